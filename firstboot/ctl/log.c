/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl log [STEP]: what the step's unit, or firstbootd itself, wrote in this boot. */

#include "ctl/ctl.h"
#include "contract/step-file.h"
#include "shared/log.h"

int verb_log(Ctl *c, int argc, char *argv[]) {
        _cleanup_free_ char *unit = NULL;

        (void) c;
        if (argc > 1)
                return EXIT_USAGE;
        if (argc == 1 && !step_name_is_valid(argv[0])) {
                log_error("\"%s\" is not the name of a step", argv[0]);
                return EXIT_FAILURE;
        }

        unit = argc == 1 ? strf("firstboot@%s.service", argv[0]) : strdup("firstbootd.service");
        if (!unit)
                return EXIT_FAILURE;

        execlp("journalctl", "journalctl", "--boot", "--catalog", "--unit", unit, NULL);
        log_error_errno(errno, "Cannot run journalctl");
        return EXIT_FAILURE;
}
