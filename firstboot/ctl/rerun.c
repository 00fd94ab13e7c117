/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl rerun STEP: runs a step, and those that wait for it, once more; "config" (or "all")
 * reads the configuration afresh and runs every step. */

#include "ctl/ctl.h"
#include "contract/paths.h"
#include "shared/log.h"

static int call_rerun(Ctl *c, const char *step, sd_bus_error *error) {
        int r;

        r = ctl_bus(c);
        if (r < 0)
                return r;
        return sd_bus_call_method(c->bus, DBUS_NAME, DBUS_PATH, DBUS_MANAGER, "Rerun", error, NULL,
                        "s", step);
}

int verb_rerun(Ctl *c, int argc, char *argv[]) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        if (argc != 1)
                return EXIT_USAGE;

        r = call_rerun(c, streq(argv[0], "config") ? "all" : argv[0], &error);
        if (r < 0) {
                log_error("%s", error.message ? error.message : strerror(-r));
                return EXIT_FAILURE;
        }
        return c->wait ? verb_status(c, 0, NULL) : EXIT_SUCCESS;
}
