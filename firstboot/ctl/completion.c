/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl completion bash|zsh: the shell's completion script, from the table of verbs. */

#include "ctl/ctl.h"
#include "shared/log.h"

int verb_completion(Ctl *c, int argc, char *argv[]) {
        int r;

        if (argc != 1)
                return EXIT_USAGE;

        r = completion_write(stdout, argv[0], c->program);
        if (r == -EINVAL)
                return EXIT_USAGE;
        if (r < 0) {
                log_error_errno(r, "Cannot write the script");
                return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}
