/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl rerun STEP: runs a step, and those that wait for it, once more; "config" (or "all")
 * reads the configuration afresh and runs every step. */

#include "ctl/ctl.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/time-util.h"

static int call_rerun(Ctl *c, const char *step, sd_bus_error *error) {
        int r;

        r = ctl_bus(c);
        if (r < 0)
                return r;
        return sd_bus_call_method(c->bus, DBUS_NAME, DBUS_PATH, DBUS_MANAGER, "Rerun", error, NULL,
                        "s", step);
}

/* With --wait it waits for its turn, too: after a failure the slurm step may still be about to
 * drain the node. What is left of --timeout is for what follows. */
static int call_in_turn(Ctl *c, const char *step, sd_bus_error *error) {
        uint64_t began = now_usec(), spent;
        int r;

        for (;;) {
                sd_bus_error_free(error);
                r = call_rerun(c, step, error);
                if (r >= 0 || !c->wait || !sd_bus_error_has_name(error, DBUS_NAME ".Busy"))
                        break;
                spent = now_usec() - began;
                if (c->timeout_usec && spent >= c->timeout_usec)
                        return r;
                usleep(200 * USEC_PER_MSEC);
        }
        spent = now_usec() - began;
        if (c->timeout_usec)
                c->timeout_usec = c->timeout_usec > spent ? c->timeout_usec - spent : 1;
        return r;
}

int verb_rerun(Ctl *c, int argc, char *argv[]) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        bool busy;
        int r;

        if (argc != 1)
                return EXIT_USAGE;

        r = call_in_turn(c, streq(argv[0], "config") ? RERUN_ALL : argv[0], &error);
        if (r < 0) {
                busy = sd_bus_error_has_name(&error, DBUS_NAME ".Busy");
                ctl_log_failure(r, &error,
                                busy && !c->wait
                                                ? " Try again in a moment; --wait waits for its turn."
                                                : "");
                return EXIT_FAILURE;
        }
        return c->wait ? verb_status(c, 0, NULL) : EXIT_SUCCESS;
}
