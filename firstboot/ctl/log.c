/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl log [STEP]: what the step's unit, or firstbootd itself, wrote in this boot. */

#include "ctl/ctl.h"
#include "contract/step-file.h"
#include "shared/log.h"

/* A step whose file has been taken out may still have a journal; a name that never was a step's has
 * none. */
static bool is_step(const char *name) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *list = NULL;

        if (step_list(&names) < 0 || strv_contains(names, name))
                return true;

        list = strv_join(names, ", ");
        log_error("There is no step \"%s\"; there are: %s. journalctl -u firstboot@%s.service shows what a step wrote that was taken out",
                        name, isempty(list) ? "none" : list, name);
        return false;
}

int verb_log(Ctl *c, int argc, char *argv[]) {
        _cleanup_free_ char *unit = NULL;

        (void) c;
        if (argc > 1)
                return EXIT_USAGE;
        if (argc == 1 && !step_name_is_valid(argv[0])) {
                log_error("\"%s\" is not the name of a step", argv[0]);
                return EXIT_FAILURE;
        }
        if (argc == 1 && !is_step(argv[0]))
                return EXIT_FAILURE;

        unit = argc == 1 ? strf("firstboot@%s.service", argv[0]) : strdup("firstbootd.service");
        if (!unit)
                return EXIT_FAILURE;

        execlp("journalctl", "journalctl", "--boot", "--catalog", "--unit", unit, NULL);
        log_error_errno(errno, "Cannot run journalctl");
        return EXIT_FAILURE;
}
