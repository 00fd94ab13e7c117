/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Mount points inside of mount points. */

#include "steps/mounts/order.h"

bool path_is_below(const char *path, const char *folder) {
        const char *rest = startswith(path, folder);

        return rest && *rest == '/';
}

ssize_t mount_parent(const char *const *where, size_t n, size_t i) {
        ssize_t best = -1;

        for (size_t j = 0; j < n; j++) {
                bool above = path_is_below(where[i], where[j]) ||
                             (j < i && streq(where[i], where[j]));

                /* Of two of the same name, the later: it waits for the earlier one itself. */
                if (above && (best < 0 || strlen(where[j]) >= strlen(where[best])))
                        best = (ssize_t) j;
        }
        return best;
}

/* What firstbootd says of a step; NULL: it does not know it. */
static const char *step_status(json_object *status, const char *name) {
        json_object *steps = json_get(status, "steps");

        for (size_t i = 0; steps && i < json_object_array_length(steps); i++) {
                json_object *o = json_object_array_get_idx(steps, i);
                const char *is = json_get_string(o, "name");

                if (is && streq(is, name))
                        return json_get_string(o, "status");
        }
        return NULL;
}

bool waits_for_scratch(const char *where, json_object *config, json_object *status) {
        const char *point = json_get_string(json_get(config, "scratch"), "mount_point"),
                   *is = step_status(status, "scratch");

        if (!point || !is || !path_is_below(where, point))
                return false;
        return !streq(is, "skipped") && !streq(is, "done") && !streq(is, "degraded");
}
