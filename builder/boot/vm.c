/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a VmConfig to QEMU's command line; nothing here runs anything.
 *
 * The journal channel. systemd (256 and newer) takes units from credentials, and a virtual machine
 * gives credentials through SMBIOS strings. So the guest gets, for this boot and in memory only,
 * one unit that copies its journal to a virtio-serial port as it grows: what the guest's systemd
 * says about its units arrives with fields that no service can forge (_PID=1), and all of it is on
 * the host even when the guest dies the next moment. Older guests ignore the strings; then the
 * serial console is all there is. */

#include "boot/vm.h"

#include "shared/file-util.h"
#include "shared/size.h"
#include "shared/strv.h"

#include <ctype.h>
#include <openssl/evp.h>

#define CREDENTIAL "type=11,value=io.systemd.credential.binary:"

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

/* What goes into an Identify field: printable ASCII, no comma (QEMU's separator), no leading
 * space. */
static bool identify_text_valid(const char *text, size_t max) {
        size_t n = strlen(text);

        if (n == 0 || n > max || text[0] == ' ')
                return false;
        for (size_t i = 0; i < n; i++)
                if (text[i] < ' ' || text[i] > '~' || text[i] == ',')
                        return false;
        return true;
}

static bool serial_taken(const VmConfig *c, const char *serial) {
        for (size_t i = 0; i < c->n_nvme; i++)
                if (streq(c->nvme[i].serial, serial))
                        return true;
        return false;
}

static int add_disks(VmConfig *c, unsigned long count, uint64_t size, const char *serial,
                const char *model, const char **ret_problem) {
        if (count < 1 || count > VM_NVME_MAX || c->n_nvme + count > VM_NVME_MAX) {
                *ret_problem = "from 1 to 16 disks in all";
                return -EINVAL;
        }
        for (unsigned long i = 0; i < count; i++) {
                VmNvme disk = { .size = size };

                if (serial)
                        disk.serial = count > 1 ? strf("%s-%lu", serial, i) : strdup(serial);
                else
                        disk.serial = strf("imgbuild%zu", c->n_nvme);
                disk.model = model ? strdup(model) : NULL;
                if (!disk.serial || (model && !disk.model)) {
                        free(disk.serial);
                        free(disk.model);
                        return -ENOMEM;
                }
                bool fits = strlen(disk.serial) <= VM_NVME_SERIAL_MAX,
                     taken = serial_taken(c, disk.serial);
                if (!fits || taken) {
                        *ret_problem = taken ? "two disks with the same serial"
                                             : "serial: at most 20 characters";
                        free(disk.serial);
                        free(disk.model);
                        return -EINVAL;
                }
                c->nvme[c->n_nvme++] = disk;
        }
        return 0;
}

int vm_add_nvme(VmConfig *c, const char *text, const char **ret_problem) {
        _cleanup_strv_free_ char **parts = NULL;
        const char *serial = NULL, *model = NULL;
        uint64_t size = UINT64_C(4) << 30;
        unsigned long count = 1;
        char *end;

        if (isdigit((unsigned char) text[0])) {
                count = strtoul(text, &end, 10);
                if (*end) {
                        *ret_problem = "a number of disks, or size=4G,serial=S,model=M,count=N";
                        return -EINVAL;
                }
                return count == 0 ? 0 : add_disks(c, count, size, NULL, NULL, ret_problem);
        }
        parts = strv_split(text, ",");
        if (!parts)
                return -ENOMEM;
        if (!parts[0]) {
                *ret_problem = "a number of disks, or size=4G,serial=S,model=M,count=N";
                return -EINVAL;
        }
        STRV_FOREACH (part, parts) {
                const char *value;

                if ((value = startswith(*part, "size="))) {
                        if (parse_bytes(value, &size) < 0 || size < 1 << 20 || size % 512 != 0) {
                                *ret_problem = "size: at least 1M, such as 4G";
                                return -EINVAL;
                        }
                } else if ((value = startswith(*part, "serial="))) {
                        if (!identify_text_valid(value, VM_NVME_SERIAL_MAX)) {
                                *ret_problem = "serial: 1 to 20 printable characters";
                                return -EINVAL;
                        }
                        serial = value;
                } else if ((value = startswith(*part, "model="))) {
                        if (!identify_text_valid(value, VM_NVME_MODEL_MAX)) {
                                *ret_problem = "model: 1 to 40 printable characters";
                                return -EINVAL;
                        }
                        model = value;
                } else if ((value = startswith(*part, "count="))) {
                        count = strtoul(value, &end, 10);
                        if (!isdigit((unsigned char) value[0]) || *end) {
                                *ret_problem = "count: from 1 to 16";
                                return -EINVAL;
                        }
                } else {
                        *ret_problem = "known are size=, serial=, model= and count=";
                        return -EINVAL;
                }
        }
        return add_disks(c, count, size, serial, model, ret_problem);
}

static bool parse_port(const char *text, size_t length, bool zero, uint16_t *ret) {
        unsigned n = 0;

        if (length == 0 || length > 5)
                return false;
        for (size_t i = 0; i < length; i++) {
                if (!isdigit((unsigned char) text[i]))
                        return false;
                n = n * 10 + (unsigned) (text[i] - '0');
        }
        if (n > 65535 || (n == 0 && !zero))
                return false;
        *ret = (uint16_t) n;
        return true;
}

int vm_add_forward(VmConfig *c, const char *text, const char **ret_problem) {
        const char *colon = strchr(text, ':');
        VmForward f;

        if (c->n_forwards == VM_FORWARD_MAX) {
                *ret_problem = "at most 16 forwards";
                return -EINVAL;
        }
        if (!colon || !parse_port(text, (size_t) (colon - text), true, &f.host) ||
                        !parse_port(colon + 1, strlen(colon + 1), false, &f.guest)) {
                *ret_problem = "HOST-PORT:GUEST-PORT, such as 2222:22 (host port 0: a free one)";
                return -EINVAL;
        }
        c->forwards[c->n_forwards++] = f;
        return 0;
}

int vm_load_credential(VmConfig *c, const char *text, const char **ret_problem) {
        const char *colon = strchr(text, ':');
        _cleanup_free_ char *name = colon ? strndup(text, (size_t) (colon - text)) : NULL,
                            *value = NULL;
        size_t size;
        int r;

        /* systemd's credential_name_valid(): a file name. */
        if (!colon || !colon[1] || isempty(name) ||
                        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-~@") !=
                                        strlen(name)) {
                *ret_problem = "NAME:FILE, such as firstboot.slurm.munge_key:key.txt";
                return -EINVAL;
        }
        *ret_problem = colon + 1;
        r = read_file(colon + 1, VM_CREDENTIAL_MAX, &value, &size);
        if (r < 0)
                return r;
        if (strlen(value) != size) {
                *ret_problem = "a text; a NUL byte is in it";
                return -EINVAL;
        }
        return strv_extend_many(&c->credentials, name, value, NULL);
}

void vm_config_done(VmConfig *c) {
        strv_free(TAKE_PTR(c->credentials));
        for (size_t i = 0; i < c->n_nvme; i++) {
                free(c->nvme[i].serial);
                free(c->nvme[i].model);
        }
        c->n_nvme = 0;
}

static int add_credential(char ***argv, const char *name, const char *value) {
        size_t length = strlen(value);
        _cleanup_free_ char *text = malloc(4 * ((length + 2) / 3) + 1);

        if (!text)
                return -ENOMEM;
        EVP_EncodeBlock((unsigned char *) text, (const unsigned char *) value, (int) length);
        int r = strv_extend(argv, "-smbios");
        return r < 0 ? r : strv_extendf(argv, CREDENTIAL "%s=%s", name, text);
}

static int add_firmware(const VmConfig *c, char ***argv) {
        if (c->firmware == VM_BIOS)
                return 0; /* SeaBIOS is QEMU's own */
        return strv_extend_many(argv, "-drive",
                        "if=pflash,unit=0,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd",
                        "-drive", "if=pflash,unit=1,format=raw,file=" VM_FOLDER "/vars.fd", NULL);
}

static int add_disk_devices(const VmConfig *c, char ***argv) {
        int r;

        r = strv_extend_many(argv, "-drive",
                        "if=none,id=root,format=qcow2,cache=unsafe,discard=unmap,file=" VM_FOLDER
                        "/root.qcow2",
                        "-device",
                        c->root_nvme ? "nvme,drive=root,serial=imgbuild-root,bootindex=0"
                                     : "virtio-blk-pci,drive=root,serial=imgbuild-root,bootindex=0",
                        NULL);
        if (r >= 0 && c->seed)
                r = strv_extend_many(argv, "-drive",
                                "if=none,id=seed,format=raw,readonly=on,file=" VM_FOLDER
                                "/seed.img",
                                "-device", "virtio-blk-pci,drive=seed,serial=imgbuild-seed", NULL);
        for (size_t i = 0; r >= 0 && i < c->n_nvme; i++) {
                r = strv_extend(argv, "-drive");
                if (r >= 0)
                        r = strv_extendf(argv,
                                        "if=none,id=nvme%zu,format=raw,cache=unsafe,discard=unmap,file=" VM_FOLDER
                                        "/nvme%zu.raw",
                                        i, i);
                if (r >= 0)
                        r = strv_extend(argv, "-device");
                if (r >= 0)
                        r = strv_extendf(
                                        argv, "nvme,drive=nvme%zu,serial=%s", i, c->nvme[i].serial);
        }
        return r;
}

static int add_network(const VmConfig *c, char ***argv) {
        _cleanup_free_ char *netdev = strdup("user,id=net");
        int r;

        for (size_t i = 0; netdev && i < c->n_forwards; i++) {
                char *longer = strf("%s,hostfwd=tcp:127.0.0.1:%u-:%u", netdev, c->forwards[i].host,
                                c->forwards[i].guest);
                free(netdev);
                netdev = longer;
        }
        if (!netdev)
                return -ENOMEM;
        r = strv_extend_many(argv, "-netdev", netdev, "-device",
                        "virtio-net-pci,netdev=net,romfile=", NULL);
        return r;
}

static int add_channels(const VmConfig *c, char ***argv) {
        int r;

        r = strv_extend(argv, "-chardev");
        if (r >= 0)
                r = strv_extendf(argv, "file,id=console,path=" VM_LOG_FOLDER "/%s", c->console);
        if (r >= 0)
                r = strv_extend_many(argv, "-serial", "chardev:console", "-qmp",
                                "unix:" VM_FOLDER "/qmp.sock,server=on,wait=off", NULL);
        if (r < 0 || !c->journal)
                return r;
        r = strv_extend_many(argv, "-device", "virtio-serial-pci", "-chardev", NULL);
        if (r >= 0)
                r = strv_extendf(argv, "file,id=journal,path=" VM_LOG_FOLDER "/%s", c->journal);
        if (r >= 0)
                r = strv_extend_many(argv, "-device",
                                "virtserialport,chardev=journal,name=" VM_JOURNAL_PORT, NULL);
        if (r >= 0)
                r = add_credential(
                                argv, "systemd.extra-unit.imgbuild-journal.service", journal_unit);
        if (r >= 0)
                r = add_credential(argv, "systemd.unit-dropin.sysinit.target", journal_wanted);
        return r;
}

int vm_argv(const VmConfig *c, char ***ret) {
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        /* Without graphics, SeaBIOS writes to the serial port. */
        r = strv_extend_many(&argv, "qemu-system-x86_64", "-name", "imgbuild", "-no-user-config",
                        "-nodefaults", "-display", "none", "-machine",
                        c->firmware == VM_BIOS ? "q35,graphics=off" : "q35", "-accel",
                        c->kvm ? "kvm" : "tcg,thread=multi", "-cpu", c->kvm ? "host" : "max",
                        "-smp", NULL);
        if (r >= 0)
                r = strv_extendf(&argv, "%u", c->cpus);
        if (r >= 0)
                r = strv_extend(&argv, "-m");
        if (r >= 0)
                r = strv_extendf(&argv, "%lluM", (unsigned long long) (c->memory >> 20));
        if (r >= 0 && c->paused)
                r = strv_extend(&argv, "-S");
        if (r >= 0)
                r = add_firmware(c, &argv);
        if (r >= 0)
                r = add_disk_devices(c, &argv);
        if (r >= 0)
                r = add_network(c, &argv);
        if (r >= 0) /* a panic is reported, and the guest goes on to print its trace */
                r = strv_extend_many(&argv, "-device", "virtio-rng-pci", "-device", "pvpanic-pci",
                                "-action", "panic=none", NULL);
        if (r >= 0)
                r = add_channels(c, &argv);
        if (r >= 0 && c->root_key)
                r = add_credential(&argv, "ssh.authorized_keys.root", c->root_key);
        for (char **p = c->credentials; r >= 0 && p && p[0]; p += 2)
                r = add_credential(&argv, p[0], p[1]);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(argv);
        return 0;
}
