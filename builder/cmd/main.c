/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild: bakes GPU node images. This file finds the verb. */

#include "shared/log.h"
#include "common/userns.h"
#include "cmd/verb.h"

static const struct {
        const char *name;
        int (*run)(int argc, char *argv[]);
        bool needs_root; /* works on layers, so an ordinary user gets a user namespace first */
        const char *help;
} verbs[] = {
        { "build", cmd_build, true, "bake a recipe into a bootable disk image" },
        { "plan", cmd_plan, false, "show the stages, what is cached and what would run" },
        { "lock", cmd_lock, false, "write or move the lock file: exact packages and artifacts" },
        { "check", cmd_check, true, "prove a finished tree: drivers, identity, secrets, services" },
        { "boot", cmd_boot, true, "boot an image in QEMU and wait until it is up" },
        { "inspect", cmd_inspect, false, "say what is in an image, anybody's" },
        { "diff", cmd_diff, false, "compare two images" },
        { "export", cmd_export, true, "convert a disk image to another format" },
        { "shell", cmd_shell, true, "open a shell in the tree as a stage left it" },
        { "cache", cmd_cache, true, "show and prune the store" },
        { "doctor", cmd_doctor, false, "say what this host lacks for which verb" },
};

static void help(void) {
        printf("imgbuild VERB [OPTION…] …\n\n"
               "Bakes GPU node images from recipes and overlays, and proves them.\n\n");
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                printf("  %-9s %s\n", verbs[i].name, verbs[i].help);
        printf("\n'imgbuild VERB --help' shows a verb's options; imgbuild(1) is the manual.\n"
               "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad recipe, 4 download failed,\n"
               "5 the host lacks something (imgbuild doctor), 124 timed out, 130 interrupted.\n");
}

int main(int argc, char *argv[]) {
        log_set_program("imgbuild");

        if (argc < 2) {
                help();
                return EXIT_USAGE;
        }
        if (streq(argv[1], "--help") || streq(argv[1], "-h") || streq(argv[1], "help")) {
                help();
                return EXIT_OK;
        }
        if (streq(argv[1], "--version")) {
                printf("imgbuild %s\n", VERSION);
                return EXIT_OK;
        }
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                if (!streq(argv[1], verbs[i].name))
                        continue;
                if (verbs[i].needs_root) {
                        bool wants_help = false;

                        for (int a = 2; a < argc && !streq(argv[a], "--"); a++)
                                wants_help = wants_help || streq(argv[a], "--help") ||
                                             streq(argv[a], "-h");
                        int r = wants_help ? 0 : userns_enter(argc, argv);
                        if (r < 0)
                                return EXIT_HOST;
                }
                return verbs[i].run(argc - 1, argv + 1);
        }
        log_error("There is no verb '%s'; 'imgbuild --help' lists them", argv[1]);
        return EXIT_USAGE;
}
