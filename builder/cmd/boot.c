/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild boot: boots an image in QEMU, with as many NVMe disks as wanted and a seed for
 * cloud-init, and waits until it is up. This file is the command line; boot.c is the boot. */

#include "boot/boot.h"
#include "inspect/inspect.h"
#include "boot/seed.h"
#include "cmd/verb.h"

#include <getopt.h>

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
};

static const struct option long_options[] = {
        { "nvme", required_argument, NULL, OPT_NVME },
        { "root-disk", required_argument, NULL, OPT_ROOT_DISK },
        { "memory", required_argument, NULL, OPT_MEMORY },
        { "cpus", required_argument, NULL, OPT_CPUS },
        { "disk-size", required_argument, NULL, OPT_DISK_SIZE },
        { "firmware", required_argument, NULL, OPT_FIRMWARE },
        { "user-data", required_argument, NULL, OPT_USER_DATA },
        { "meta-data", required_argument, NULL, OPT_META_DATA },
        { "network-config", required_argument, NULL, OPT_NETWORK_CONFIG },
        { "ssh-key", required_argument, NULL, OPT_SSH_KEY },
        { "forward", required_argument, NULL, OPT_FORWARD },
        { "load-credential", required_argument, NULL, OPT_LOAD_CREDENTIAL },
        { "until", required_argument, NULL, OPT_UNTIL },
        { "timeout", required_argument, NULL, OPT_TIMEOUT },
        { "keep", no_argument, NULL, OPT_KEEP },
        { "save", required_argument, NULL, OPT_SAVE },
        { "state", required_argument, NULL, OPT_STATE },
        { "accel", required_argument, NULL, OPT_ACCEL },
        { "no-seed", no_argument, NULL, OPT_NO_SEED },
        { "no-journal", no_argument, NULL, OPT_NO_JOURNAL },
        { "power-off", no_argument, NULL, OPT_POWER_OFF },
        { "strict", no_argument, NULL, OPT_STRICT },
        { "allow-failed", required_argument, NULL, OPT_ALLOW_FAILED },
        COMMON_LONG_OPTIONS,
        {},
};

static void help(void) {
        printf("imgbuild boot IMAGE [OPTION…] [-- COMMAND…]\n\n"
               "Boots an image in QEMU and waits until it is up. The image is never changed. COMMAND is run\n"
               "in the guest, as root, over ssh.\n\n"
               "      --until=MARKER      multi-user (default), ready (node-ready.target), a unit's name, or a\n"
               "                          regular expression for a line of console or journal\n"
               "      --timeout=SECONDS   give up then, with exit code 124 (default: 600)\n"
               "      --nvme=N            N emulated NVMe disks of 4G\n"
               "      --nvme=size=S,serial=T,model=M,count=N\n"
               "                          NVMe disks to order; may be given several times\n"
               "      --root-disk=KIND    virtio (default) or nvme\n"
               "      --disk-size=SIZE    show the guest a larger root disk\n"
               "      --memory=SIZE       (default: 2G)\n"
               "      --cpus=N            (default: 2)\n"
               "      --firmware=KIND     uefi (default) or bios\n"
               "      --accel=KIND        auto (default: KVM where a probe shows that it works), kvm, tcg\n"
               "      --user-data=FILE    for cloud-init, by a NoCloud seed\n"
               "      --meta-data=FILE    the same\n"
               "      --network-config=FILE  the same\n"
               "      --ssh-key=FILE      public key that may log in; may be given several times\n"
               "      --no-seed           no seed at all\n"
               "      --load-credential=NAME:FILE  a systemd credential for the guest; may be given several times\n"
               "      --forward=HOST:GUEST  127.0.0.1:HOST is the guest's TCP port; may be given several times\n"
               "      --keep              let it run until Ctrl-C\n"
               "      --power-off         at the end, switch the guest off in order instead of pulling the plug\n"
               "      --save=FOLDER       console.log, journal.export, journal.log, boot.json\n"
               "      --state=FOLDER      keep the disks there, and boot from them the next time\n"
               "      --strict            a failed unit fails the boot\n"
               "      --allow-failed=UNIT a unit, or a pattern of units, that may fail all the same\n"
               "      --no-journal        add nothing to the guest; only the console is read\n%s",
                        common_options_help);
}

static int wrong(const char *option, const char *value, const char *expected) {
        log_error("--%s=%s: %s", option, value, expected);
        return -EINVAL;
}

static int parse_number(
                const char *option, const char *value, unsigned min, unsigned max, unsigned *ret) {
        char *end;
        unsigned long n = strtoul(value, &end, 10);

        if (value[0] < '0' || value[0] > '9' || *end || n < min || n > max) {
                log_error("--%s=%s: a number from %u to %u", option, value, min, max);
                return -EINVAL;
        }
        *ret = (unsigned) n;
        return 0;
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

static int parse_sizes(BootOptions *o, int c, const char *value) {
        if (c == OPT_MEMORY) {
                if (parse_size(value, &o->vm.memory) < 0 || o->vm.memory < UINT64_C(64) << 20)
                        return wrong("memory", value, "at least 64M, such as 2G");
                return 0;
        }
        if (parse_size(value, &o->disk_size) < 0 || o->disk_size < UINT64_C(1) << 20)
                return wrong("disk-size", value, "a size such as 20G");
        return 0;
}

static int parse_machine(BootOptions *o, int c, const char *value) {
        static const char *const disks[] = { "virtio", "nvme" },
                                 *const firmwares[] = { "uefi", "bios" },
                                 *const accels[] = { "auto", "kvm", "tcg" };
        const char *problem = "out of memory";
        int choice, r;

        switch (c) {
        case OPT_NVME:
                return vm_add_nvme(&o->vm, value, &problem) < 0 ? wrong("nvme", value, problem) : 0;
        case OPT_FORWARD:
                return vm_add_forward(&o->vm, value, &problem) < 0
                                       ? wrong("forward", value, problem)
                                       : 0;
        case OPT_LOAD_CREDENTIAL:
                r = vm_load_credential(&o->vm, value, &problem);
                if (r == -EINVAL)
                        return wrong("load-credential", value, problem);
                return r < 0 ? log_error_errno(r, "Cannot read the credential %s", problem) : 0;
        case OPT_MEMORY:
        case OPT_DISK_SIZE:
                return parse_sizes(o, c, value);
        case OPT_CPUS:
                return parse_number("cpus", value, 1, 255, &o->vm.cpus);
        case OPT_ROOT_DISK:
                r = parse_choice("root-disk", value, disks, ELEMENTSOF(disks), &choice);
                o->vm.root_nvme = r >= 0 && choice == 1;
                return r;
        case OPT_FIRMWARE:
                r = parse_choice("firmware", value, firmwares, ELEMENTSOF(firmwares), &choice);
                if (r >= 0)
                        o->vm.firmware = (VmFirmware) choice;
                return r;
        default:
                r = parse_choice("accel", value, accels, ELEMENTSOF(accels), &choice);
                if (r >= 0)
                        o->accel = (VmAccel) choice;
                return r;
        }
}

static int parse_option(BootOptions *o, int c, const char *value) {
        switch (c) {
        case OPT_USER_DATA:
                o->user_data = value;
                return 0;
        case OPT_META_DATA:
                o->meta_data = value;
                return 0;
        case OPT_NETWORK_CONFIG:
                o->network_config = value;
                return 0;
        case OPT_SSH_KEY:
                return seed_read_keys(value, &o->keys);
        case OPT_UNTIL:
                if (isempty(value))
                        return wrong("until", value,
                                        "multi-user, ready, a unit or a regular expression");
                o->until = value;
                return 0;
        case OPT_TIMEOUT:
                return parse_number("timeout", value, 1, 1000000, &o->timeout);
        case OPT_KEEP:
                o->keep = true;
                return 0;
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
                return parse_machine(o, c, value);
        }
}

static void options_done(BootOptions *o) {
        vm_config_done(&o->vm);
        strv_free(o->keys);
        strv_free(o->allow_failed);
}

/* What can be known to be wrong before anything is built or started. */
static int check_options(const BootOptions *o) {
        _cleanup_free_ char *problem = NULL;
        BootWatch w;
        int r;

        r = boot_watch_init(&w, o->until, &problem);
        if (r == -EINVAL)
                return wrong("until", o->until, strempty(problem));
        boot_watch_done(&w);
        if (o->no_seed && (o->user_data || o->meta_data || o->network_config)) {
                log_error("--no-seed leaves no place for --user-data, --meta-data and --network-config");
                return -EINVAL;
        }
        const char *const files[] = { o->user_data, o->meta_data, o->network_config };
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                if (files[i] && access(files[i], R_OK) < 0)
                        return log_error_errno(-errno, "Cannot read %s", files[i]), -EINVAL;
        return 0;
}

int cmd_boot(int argc, char *argv[]) {
        _cleanup_common_options_ CommonOptions common = {};
        _cleanup_(options_done) BootOptions o = {
                .until = "multi-user",
                .timeout = 600,
                .vm = { .cpus = 2, .memory = UINT64_C(2) << 30 },
        };
        _cleanup_context_ Context ctx = {};
        _cleanup_tools_free_ Tools *tools = NULL;
        const char *format;
        int c, r;

        while ((c = getopt_long(argc, argv, "-j:vh", long_options, NULL)) >= 0) {
                if (c == 'h') {
                        help();
                        return EXIT_OK;
                }
                if (c == 1) { /* a word that is no option */
                        if (o.image) {
                                log_error("One image at a time: %s, or %s? A command for the guest comes after --",
                                                o.image, optarg);
                                return EXIT_USAGE;
                        }
                        o.image = optarg;
                        continue;
                }
                if (c == '?')
                        return EXIT_USAGE;
                r = common_option(&common, c, optarg);
                if (r == 0)
                        r = parse_option(&o, c, optarg);
                if (r < 0)
                        return EXIT_USAGE;
        }
        if (optind < argc)
                o.command = argv + optind;
        if (!o.image) {
                log_error("Which image? 'imgbuild boot IMAGE', such as out/debian-13-gpu/debian-13-gpu.qcow2");
                return EXIT_USAGE;
        }
        if (check_options(&o) < 0)
                return EXIT_USAGE;
        r = image_format_log(o.image, &format); /* before a tools tree is built for nothing */
        if (r < 0)
                return r == -EACCES ? EXIT_HOST : EXIT_BAD_INPUT;

        r = context_open(&common, &ctx);
        if (r < 0)
                return EXIT_HOST;
        r = tools_open(&ctx, NULL, &tools);
        if (r < 0)
                return exit_code_from_errno(r);
        return boot_run(&ctx, tools, &o);
}
