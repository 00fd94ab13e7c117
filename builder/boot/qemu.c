/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a VmConfig to QEMU's command line; nothing here runs anything.
 *
 * The journal channel. systemd (256 and newer) takes units from credentials, and a virtual machine
 * gives credentials through SMBIOS strings. So the guest gets, for this boot and in memory only,
 * one unit that copies its journal to a virtio-serial port as it grows: what the guest's systemd
 * says about its units arrives with fields that no service can forge (_PID=1), and all of it is on
 * the host even when the guest dies the next moment. Older guests ignore the strings; then the
 * serial console is all there is. */

#include "boot/qemu.h"
#include "boot/link.h"

#include "shared/strv.h"

#include <openssl/evp.h>
#include <stdarg.h>

/* All that QEMU's own processor can, but for what it does slowly and Linux would then do all the
 * time: copies byte by byte (erms, fsrm), a fifth level of page tables, a latch around each copy
 * from and to programs (smap). */
#define EMULATED "max,erms=off,fsrm=off,la57=off,smap=off"

static const char journal_unit[] =
                "[Unit]\n"
                "Description=Journal to the host (imgbuild boot)\n"
                "DefaultDependencies=no\n"
                "After=systemd-journald.service dev-virtio\\x2dports-" VM_JOURNAL_PORT ".device\n"
                "Wants=dev-virtio\\x2dports-" VM_JOURNAL_PORT ".device\n"
                "[Service]\n"
                "ExecStart=journalctl --follow --lines=all --boot --output=export\n"
                "StandardOutput=file:/dev/virtio-ports/" VM_JOURNAL_PORT "\n"
                "StandardError=journal\n"
                "Restart=on-failure\n";

static const char journal_wanted[] = "[Unit]\nWants=imgbuild-journal.service\n";

/* One option and its value. */
static _printf_(3, 4) int add(char ***argv, const char *option, const char *format, ...) {
        _cleanup_free_ char *value = NULL;
        va_list ap;

        va_start(ap, format);
        value = vstrf(format, ap);
        va_end(ap);
        return value ? strv_extend_strv(argv, ARGV(option, value)) : -ENOMEM;
}

static int add_credential(char ***argv, const char *name, const char *value) {
        size_t length = strlen(value);
        _cleanup_free_ char *text = malloc(4 * ((length + 2) / 3) + 1);

        if (!text)
                return -ENOMEM;

        EVP_EncodeBlock((unsigned char *) text, (const unsigned char *) value, (int) length);
        return add(argv, "-smbios", "type=11,value=io.systemd.credential.binary:%s=%s", name, text);
}

static int add_firmware(const VmConfig *c, char ***argv) {
        if (c->firmware == VM_BIOS)
                return 0; /* SeaBIOS is QEMU's own */

        return strv_extend_many(argv, "-drive",
                        "if=pflash,unit=0,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd",
                        "-drive", "if=pflash,unit=1,format=raw,file=" VM_FOLDER "/vars.fd", NULL);
}

static int add_nvme(const VmConfig *c, size_t i, char ***argv) {
        int r;

        r = add(argv, "-drive",
                        "if=none,id=nvme%zu,format=raw,cache=unsafe,discard=unmap,file=" VM_FOLDER
                        "/nvme%zu.raw",
                        i, i);
        if (r < 0)
                return r;
        return add(argv, "-device", "nvme,drive=nvme%zu,serial=%s", i, c->nvme[i].serial);
}

static int add_seed(char ***argv) {
        return strv_extend_many(argv, "-drive",
                        "if=none,id=seed,format=raw,readonly=on,file=" VM_FOLDER "/seed.img",
                        "-device", "virtio-blk-pci,drive=seed,serial=imgbuild-seed", NULL);
}

static int add_disks(const VmConfig *c, char ***argv) {
        int r;

        r = strv_extend_many(argv, "-drive",
                        "if=none,id=root,format=qcow2,cache=unsafe,discard=unmap,file=" VM_FOLDER
                        "/root.qcow2",
                        "-device",
                        c->root_nvme ? "nvme,drive=root,serial=imgbuild-root,bootindex=0"
                                     : "virtio-blk-pci,drive=root,serial=imgbuild-root,bootindex=0",
                        NULL);
        if (r < 0)
                return r;

        if (c->seed) {
                r = add_seed(argv);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < c->n_nvme; i++) {
                r = add_nvme(c, i, argv);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A slot of its own: a guest names its card by it (enp0s29), and writes the name into its
 * configuration. Given the next free one, a machine that is switched on with a disk more or less
 * would have another card than the one it knows. */
static int add_network(const VmConfig *c, char ***argv) {
        _cleanup_strv_free_ char **parts = NULL;
        _cleanup_free_ char *netdev = NULL;

        if (strv_extend(&parts, "user,id=net") < 0)
                return -ENOMEM;
        for (size_t i = 0; i < c->n_forwards; i++)
                if (strv_extendf(&parts, "hostfwd=tcp:127.0.0.1:%u-:%u", c->forwards[i].host,
                                    c->forwards[i].guest) < 0)
                        return -ENOMEM;

        netdev = strv_join(parts, ",");
        if (!netdev)
                return -ENOMEM;
        return strv_extend_many(argv, "-netdev", netdev, "-device",
                        "virtio-net-pci,netdev=net,romfile=,addr=0x1d,mac=" VM_USER_MAC, NULL);
}

/* Slots of their own, for the same reason. */
static int add_links(const VmConfig *c, char ***argv) {
        for (size_t i = 0; i < c->n_links; i++) {
                int r;

                r = add(argv, "-netdev",
                                "dgram,id=link%zu,local.type=unix,local.path=" VM_FOLDER
                                "/" LINK_QEMU_SOCKET ",remote.type=unix,remote.path=" VM_FOLDER
                                "/" LINK_PORT_SOCKET,
                                i, i, i);
                if (r < 0)
                        return r;
                r = add(argv, "-device",
                                "virtio-net-pci,netdev=link%zu,romfile=,addr=0x%zx,mac=%s,host_mtu=%d",
                                i, 0x1c - i, c->links[i].mac, LINK_MTU);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_console(const VmConfig *c, char ***argv) {
        int r;

        if (c->console_socket)
                r = add(argv, "-chardev",
                                "socket,id=console,path=" VM_FOLDER "/" VM_CONSOLE_SOCKET
                                ",server=on,wait=off,logfile=" VM_LOG_FOLDER "/%s",
                                c->console);
        else
                r = add(argv, "-chardev", "file,id=console,path=" VM_LOG_FOLDER "/%s", c->console);
        if (r < 0)
                return r;
        return strv_extend_many(argv, "-serial", "chardev:console", "-qmp",
                        "unix:" VM_FOLDER "/qmp.sock,server=on,wait=off", NULL);
}

static int add_journal(const VmConfig *c, char ***argv) {
        int r;

        if (!c->journal)
                return 0;

        r = strv_extend_many(argv, "-device", "virtio-serial-pci", NULL);
        if (r < 0)
                return r;
        r = add(argv, "-chardev", "file,id=journal,path=" VM_LOG_FOLDER "/%s", c->journal);
        if (r < 0)
                return r;
        r = strv_extend_many(argv, "-device",
                        "virtserialport,chardev=journal,name=" VM_JOURNAL_PORT, NULL);
        if (r < 0)
                return r;
        r = add_credential(argv, "systemd.extra-unit.imgbuild-journal.service", journal_unit);
        if (r < 0)
                return r;
        return add_credential(argv, "systemd.unit-dropin.sysinit.target", journal_wanted);
}

/* For a person at the console: whoever boots an image owns it. */
static int add_console_login(const VmConfig *c, char ***argv) {
        static const char sulogin[] = "[Service]\nEnvironment=SYSTEMD_SULOGIN_FORCE=1\n";
        static const char *const credentials[][2] = {
                { "agetty.autologin", "root" },
                { "systemd.unit-dropin.emergency.service", sulogin },
                { "systemd.unit-dropin.rescue.service", sulogin },
        };

        for (size_t i = 0; c->console_login && i < ELEMENTSOF(credentials); i++) {
                int r = add_credential(argv, credentials[i][0], credentials[i][1]);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_credentials(const VmConfig *c, char ***argv) {
        int r;

        if (c->root_key) {
                r = add_credential(argv, "ssh.authorized_keys.root", c->root_key);
                if (r < 0)
                        return r;
        }

        for (char **p = c->credentials; p && p[0]; p += 2) {
                r = add_credential(argv, p[0], p[1]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_machine(const VmConfig *c, char ***argv) {
        int r;

        /* Without graphics, SeaBIOS writes to the serial port. */
        r = strv_extend_many(argv, "qemu-system-x86_64", "-name", "imgbuild", "-no-user-config",
                        "-nodefaults", "-display", "none", "-machine",
                        c->firmware == VM_BIOS ? "q35,graphics=off" : "q35", "-accel",
                        c->kvm ? "kvm" : "tcg,thread=multi", "-cpu", c->kvm ? "host" : EMULATED,
                        NULL);
        if (r < 0)
                return r;
        r = add(argv, "-smp", "%u", c->cpus);
        if (r < 0)
                return r;
        r = add(argv, "-m", "%lluM", (unsigned long long) (c->memory >> 20));
        if (r < 0)
                return r;
        return c->paused ? strv_extend(argv, "-S") : 0;
}

/* A panic is reported, and the guest goes on to print its trace. */
static int add_small_devices(const VmConfig *c _unused_, char ***argv) {
        return strv_extend_many(argv, "-device", "virtio-rng-pci", "-device", "pvpanic-pci",
                        "-action", "panic=none", NULL);
}

int vm_argv(const VmConfig *c, char ***ret) {
        static int (*const parts[])(const VmConfig *c, char ***argv) = {
                add_machine,
                add_firmware,
                add_disks,
                add_network,
                add_links,
                add_small_devices,
                add_console,
                add_journal,
                add_console_login,
                add_credentials,
        };
        _cleanup_strv_free_ char **argv = NULL;

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                int r = parts[i](c, &argv);

                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(argv);
        return 0;
}
