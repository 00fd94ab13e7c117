/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild boot: boots an image in QEMU, with as many NVMe disks as wanted and a seed for
 * cloud-init, and waits until it is up. This file is the command line; boot/ is the boot. */

#include "boot/boot.h"
#include "inspect/inspect.h"
#include "shared/size.h"
#include "cmd/verb.h"

enum {
        OPT_NVME = OPT_VERB,
        OPT_ROOT_DISK,
        OPT_MEMORY,
        OPT_CPUS,
        OPT_DISK_SIZE,
        OPT_FIRMWARE,
        OPT_USER_DATA,
        OPT_META_DATA,
        OPT_NETWORK_CONFIG,
        OPT_SSH_KEY,
        OPT_FORWARD,
        OPT_LINK,
        OPT_HOSTNAME,
        OPT_UNTIL,
        OPT_TIMEOUT,
        OPT_KEEP,
        OPT_SAVE,
        OPT_STATE,
        OPT_ACCEL,
        OPT_NO_SEED,
        OPT_NO_JOURNAL,
        OPT_POWER_OFF,
        OPT_STRICT,
        OPT_ALLOW_FAILED,
        OPT_LOAD_CREDENTIAL,
        OPT_ON_ERROR,
};

static const OptionSpec options[] = {
        { "until", OPT_UNTIL, "MARKER",
                        "multi-user (default), ready (node-ready.target), a unit's name, or a\nregular expression for a line of console or journal",
                        COMPLETE_CHOICES, "multi-user ready" },
        { "timeout", OPT_TIMEOUT, "SECONDS", "give up then, with exit code 124 (default: 600)" },
        { "nvme", OPT_NVME, "N", "N emulated NVMe disks of 4G", .repeats = true },
        { "nvme", OPT_NVME, "size=S,serial=T,model=M,count=N",
                        "NVMe disks to order; may be given several times", .repeats = true },
        { "root-disk", OPT_ROOT_DISK, "KIND", "virtio (default) or nvme", COMPLETE_CHOICES,
                        "virtio nvme" },
        { "disk-size", OPT_DISK_SIZE, "SIZE", "show the guest a larger root disk" },
        { "memory", OPT_MEMORY, "SIZE", "(default: 2G)" },
        { "cpus", OPT_CPUS, "N", "(default: 2)" },
        { "firmware", OPT_FIRMWARE, "KIND", "uefi (default) or bios", COMPLETE_CHOICES,
                        "uefi bios" },
        { "accel", OPT_ACCEL, "KIND",
                        "auto (default: KVM where a probe shows that it works), kvm, tcg",
                        COMPLETE_CHOICES, "auto kvm tcg" },
        { "user-data", OPT_USER_DATA, "FILE", "for cloud-init, by a NoCloud seed", COMPLETE_FILE },
        { "meta-data", OPT_META_DATA, "FILE", "the same", COMPLETE_FILE },
        { "network-config", OPT_NETWORK_CONFIG, "FILE", "the same", COMPLETE_FILE },
        { "ssh-key", OPT_SSH_KEY, "FILE", "public key that may log in; may be given several times",
                        COMPLETE_FILE, "*.pub", .repeats = true },
        { "no-seed", OPT_NO_SEED, NULL, "no seed at all" },
        { "load-credential", OPT_LOAD_CREDENTIAL, "NAME:FILE",
                        "a systemd credential for the guest; may be given several times",
                        .repeats = true },
        { "forward", OPT_FORWARD, "HOST:GUEST",
                        "127.0.0.1:HOST is the guest's TCP port; may be given several times",
                        .repeats = true },
        { "link", OPT_LINK, "NAME[=IPV4/PREFIX][,mac=MAC]",
                        "a card on a private network that other machines of this host join by its\nname; may be given several times",
                        .repeats = true },
        { "hostname", OPT_HOSTNAME, "NAME", "the guest's, by the seed (default: node)" },
        { "keep", OPT_KEEP, NULL, "let it run until Ctrl-C, even where it did not come up" },
        { "on-error", OPT_ON_ERROR, "WHAT",
                        "shell: where the boot fails, a shell in the guest, by ssh or on its console;\nend: none (the default)",
                        COMPLETE_CHOICES, "shell end" },
        { "power-off", OPT_POWER_OFF, NULL,
                        "at the end, switch the guest off in order instead of pulling the plug" },
        { "save", OPT_SAVE, "FOLDER", "console.log, journal.export, journal.log, boot.json",
                        COMPLETE_FOLDER },
        { "state", OPT_STATE, "FOLDER", "keep the disks there, and boot from them the next time",
                        COMPLETE_FOLDER },
        { "strict", OPT_STRICT, NULL,
                        "wait until the boot has settled; a failed unit fails it,\na degraded node with --until=ready ends it with exit code 2" },
        { "allow-failed", OPT_ALLOW_FAILED, "UNIT",
                        "a unit, or a pattern of units, that may fail all the same",
                        .repeats = true },
        { "no-journal", OPT_NO_JOURNAL, NULL,
                        "add nothing to the guest; only the console is read" },
        {},
};

static int wrong(const char *option, const char *value, const char *expected) {
        log_error("--%s=%s: %s", option, value, expected);
        return -EINVAL;
}

static int parse_choice(const char *option, const char *value, const char *const *names, size_t n,
                int *ret) {
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *known = NULL;

        for (size_t i = 0; i < n; i++) {
                if (streq(value, names[i])) {
                        *ret = (int) i;
                        return 0;
                }
                if (strv_extend(&l, names[i]) < 0)
                        return log_oom();
        }
        known = strv_join(l, ", ");
        return wrong(option, value, strempty(known));
}

static int parse_sizes(BootOptions *o, int id, const char *value) {
        if (id == OPT_MEMORY) {
                if (parse_bytes(value, &o->vm.memory) < 0 || o->vm.memory < UINT64_C(64) << 20)
                        return wrong("memory", value, "at least 64M, such as 2G");
                return 0;
        }
        if (parse_bytes(value, &o->disk_size) < 0 || o->disk_size < UINT64_C(1) << 20)
                return wrong("disk-size", value, "a size such as 20G");
        return 0;
}

static int parse_machine(BootOptions *o, int id, const char *value) {
        static const char *const disks[] = { "virtio", "nvme" },
                                 *const firmwares[] = { "uefi", "bios" },
                                 *const accels[] = { "auto", "kvm", "tcg" };
        const char *problem = "out of memory";
        int choice, r;

        switch (id) {
        case OPT_NVME:
                return vm_add_nvme(&o->vm, value, &problem) < 0 ? wrong("nvme", value, problem) : 0;
        case OPT_FORWARD:
                return vm_add_forward(&o->vm, value, &problem) < 0
                                       ? wrong("forward", value, problem)
                                       : 0;
        case OPT_LINK:
                r = vm_add_link(&o->vm, value, &problem);
                return r < 0 ? wrong("link", value, problem) : 0;
        case OPT_LOAD_CREDENTIAL:
                r = vm_load_credential(&o->vm, value, &problem);
                if (r == -EINVAL)
                        return wrong("load-credential", value, problem);
                return r < 0 ? log_error_errno(r, "Cannot read the credential %s", problem) : 0;
        case OPT_MEMORY:
        case OPT_DISK_SIZE:
                return parse_sizes(o, id, value);
        case OPT_CPUS:
                return option_number("cpus", value, 1, 255, &o->vm.cpus);
        case OPT_ROOT_DISK:
                r = parse_choice("root-disk", value, disks, ELEMENTSOF(disks), &choice);
                if (r < 0)
                        return r;
                o->vm.root_nvme = choice == 1;
                return 0;
        case OPT_FIRMWARE:
                r = parse_choice("firmware", value, firmwares, ELEMENTSOF(firmwares), &choice);
                if (r < 0)
                        return r;
                o->vm.firmware = (VmFirmware) choice;
                return 0;
        default:
                r = parse_choice("accel", value, accels, ELEMENTSOF(accels), &choice);
                if (r < 0)
                        return r;
                o->accel = (VmAccel) choice;
                return 0;
        }
}

/* One label (RFC 1123). */
static bool hostname_valid(const char *name) {
        size_t n = strlen(name);

        return n > 0 && n <= 63 && name[0] != '-' && name[n - 1] != '-' &&
               strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == n;
}

static int take(void *values, int id, const char *value) {
        BootOptions *o = values;

        switch (id) {
        case OPT_USER_DATA:
                o->user_data = value;
                return 0;
        case OPT_META_DATA:
                o->meta_data = value;
                return 0;
        case OPT_NETWORK_CONFIG:
                o->network_config = value;
                return 0;
        case OPT_HOSTNAME:
                if (!hostname_valid(value))
                        return wrong("hostname", value,
                                        "at most 63 letters, digits and '-', such as node1");
                o->hostname = value;
                return 0;
        case OPT_SSH_KEY:
                return boot_read_keys(value, &o->keys);
        case OPT_UNTIL:
                if (isempty(value))
                        return wrong("until", value,
                                        "multi-user, ready, a unit or a regular expression");
                o->until = value;
                return 0;
        case OPT_TIMEOUT:
                return option_number("timeout", value, 1, 1000000, &o->timeout);
        case OPT_KEEP:
                o->keep = true;
                return 0;
        case OPT_ON_ERROR:
                return option_on_error(value, &o->error_shell);
        case OPT_SAVE:
                o->save = value;
                return 0;
        case OPT_STATE:
                o->state = value;
                return 0;
        case OPT_NO_SEED:
                o->no_seed = true;
                return 0;
        case OPT_NO_JOURNAL:
                o->no_journal = true;
                return 0;
        case OPT_POWER_OFF:
                o->power_off = true;
                return 0;
        case OPT_STRICT:
                o->strict = true;
                return 0;
        case OPT_ALLOW_FAILED:
                return strv_extend(&o->allow_failed, value) < 0 ? log_oom() : 0;
        default:
                return parse_machine(o, id, value);
        }
}

static void done(void *values) {
        boot_options_done(values);
}

static int check(VerbCall *call) {
        BootOptions *o = call->options;
        const char *format;
        int r;

        if (call->n_arguments > 1) {
                log_error("One image at a time: %s, or %s? A command for the guest comes after --",
                                call->arguments[0], call->arguments[1]);
                return EXIT_USAGE;
        }
        if (call->n_arguments == 0) {
                log_error("Which image? 'imgbuild boot IMAGE', such as out/debian-13-gpu/debian-13-gpu.qcow2");
                return EXIT_USAGE;
        }
        o->image = call->arguments[0];
        o->command = call->command;

        if (boot_options_check(o) < 0)
                return EXIT_USAGE;
        r = image_format_log(o->image, &format); /* before a tools tree is built for nothing */
        if (r < 0)
                return r == -EACCES ? EXIT_HOST : EXIT_BAD_INPUT;
        return 0;
}

static int run(VerbCall *call) {
        _cleanup_tools_free_ Tools *tools = NULL;
        int r;

        r = tools_open(call->ctx, NULL, &tools);
        if (r < 0)
                return exit_code_from_errno(r);
        return boot_run(call->ctx, tools, call->options);
}

const Verb verb_boot = {
        .spec = { "boot", "boot an image in QEMU and wait until it is up", options, "IMAGE",
                        COMPLETE_FILE },
        .usage = "IMAGE [OPTION…] [-- COMMAND…]",
        .about = "Boots an image in QEMU and waits until it is up. The image is never changed. COMMAND is run\n"
                 "in the guest, as root, over ssh.",
        .needs_root = true,
        .needs_store = true,
        .command = true,
        .options_size = sizeof(BootOptions),
        .defaults =
                        &(const BootOptions) {
                                        .until = "multi-user",
                                        .timeout = 600,
                                        .vm = { .cpus = 2, .memory = UINT64_C(2) << 30 },
                        },
        .take = take,
        .check = check,
        .run = run,
        .done = done,
};
