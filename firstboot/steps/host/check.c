/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kernel settings and SELinux's booleans as they are now. A daemon that tunes may have changed one
 * since: that is worth telling, and no reason to take a node out of service. */

#include "shared/file-util.h"
#include "steps/host/read-only.h"
#include "steps/host/selinux.h"
#include "steps/host/sysctl.h"
#include "steps/steps.h"

/* Words of the two alike: the kernel shows "4096\t131072" for what was written with blanks. */
static bool same_words(const char *a, const char *b) {
        _cleanup_strv_free_ char **l = strv_split(a, " \t\n"), **m = strv_split(b, " \t\n");
        size_t n = strv_length(l);

        if (n != strv_length(m))
                return false;
        for (size_t i = 0; i < n; i++)
                if (!streq(l[i], m[i]))
                        return false;
        return true;
}

int host_check(StepContext *c) {
        json_object *map = json_get(c->section, "sysctl");
        int booleans;

        if (host_is_read_only())
                return host_fail_read_only(c);
        booleans = selinux_booleans_check(c);
        if (booleans < 0)
                return booleans;
        if (!map)
                return booleans > 0 ? step_done(c, "SELinux's booleans as configured")
                                    : step_skip(c, "no kernel settings are configured");
        json_object_object_foreach (map, key, value) {
                _cleanup_free_ char *path = host_sysctl_path(key), *now = NULL;
                const char *wanted = json_object_get_string(value);
                int r;

                if (!path)
                        return -ENOMEM;
                r = read_line_file(path, &now);
                if (r == -ENOMEM)
                        return r;
                if (r < 0 || !same_words(now, wanted))
                        (void) step_degrade(c, "host.sysctl", "%s is %s, not %s", key,
                                        r < 0 ? "not there" : now, wanted);
        }
        return step_done(c, "kernel settings as configured");
}
