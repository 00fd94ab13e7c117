/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstboot-lvm: one lvm command through liblvm2cmd, as a process of its own: the library keeps
 * global state and may wait long for a device. What lvm prints goes to standard output, the rest
 * to standard error. The exit code is lvm's (0 done, 5 failed). Options that force, or that answer
 * lvm's questions with yes ("… signature detected. Wipe it?"), are refused here, once for all
 * callers: nobody is there to ask, so lvm takes no for the answer. */

#include "shared/macro.h"

#include <lvm2cmd.h>

#define COMMAND_MAX 65536

static void on_log(int level, const char *file, int line, int error, const char *text) {
        (void) file, (void) line, (void) error;
        /* Warnings come at the same level as reports and would end up in the middle of their
         * JSON. */
        if (level == LVM2_LOG_PRINT && !startswith(text, "WARNING: "))
                printf("%s\n", text);
        else if (level <= LVM2_LOG_PRINT)
                fprintf(stderr, "%s\n", text);
}

static bool is_force(const char *arg) {
        if (startswith(arg, "--"))
                return startswith(arg, "--fo") || startswith(arg, "--y");
        return arg[0] == '-' && strpbrk(arg, "fy") && strspn(arg + 1, "fvyqt") == strlen(arg + 1);
}

int main(int argc, char *argv[]) {
        char command[COMMAND_MAX] = "";
        size_t used = 0;

        if (argc < 2) {
                fprintf(stderr, "Usage: firstboot-lvm COMMAND ARGUMENT…\n");
                return 2;
        }
        for (int i = 1; i < argc; i++) {
                /* lvm2_run() takes one line and splits it; a word that would not survive that is
                 * refused. */
                if (is_force(argv[i]) || argv[i][0] == '\0' || strpbrk(argv[i], " \t\n\"'\\#")) {
                        fprintf(stderr, "firstboot-lvm: argument \"%s\" is refused\n", argv[i]);
                        return 2;
                }
                used += (size_t) snprintf(command + used, sizeof(command) - used, "%s%s",
                                i > 1 ? " " : "", argv[i]);
                if (used >= sizeof(command))
                        return 2;
        }

        lvm2_log_fn(on_log);
        void *handle = lvm2_init();
        if (!handle)
                return 4;
        int r = lvm2_run(handle, command);
        lvm2_exit(handle);
        fflush(stdout);
        return r == LVM2_COMMAND_SUCCEEDED ? 0 : r;
}
