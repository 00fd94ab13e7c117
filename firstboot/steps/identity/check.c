/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Users are still found through sssd. From its cache, too: jobs run on while a directory is
 * away. */

#include "shared/spawn.h"
#include "steps/steps.h"

#define LOOKUP_USEC (10 * USEC_PER_SEC)

static int lookup(const char *database, const char *name) {
        SpawnOptions o = { .timeout_usec = LOOKUP_USEC };
        int r, status = 0;

        r = spawn_run(&o, ARGV("getent", "-s", "sss", database, name), &status);
        return r < 0 ? r : status;
}

int identity_check(StepContext *c) {
        const char *user = json_get_string(c->section, "probe_user"),
                   *group = json_get_string(c->section, "probe_group");
        int r;

        if (!c->section)
                return step_skip(c, "no identity section in the configuration");
        r = lookup("passwd", user);
        if (r == -ETIMEDOUT)
                return step_fail_later(c, "identity.sssd", "sssd does not answer");
        if (r != 0)
                return step_fail_later(c, "identity.no-user", "user %s is not found", user);
        if (group && lookup("group", group) != 0)
                return step_fail_later(c, "identity.no-group", "group %s is not found; user %s is",
                                group, user);
        return step_done(c, "user %s is found through sssd", user);
}
