/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sorts mounts so that a mount point inside another comes after it. */

#include "steps/mounts/order.h"
#include "steps/common/status-document.h"

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

bool waits_for_scratch(const char *where, json_object *config, json_object *status) {
        const char *point = json_get_string(json_get(config, "scratch"), "mount_point"),
                   *is = json_get_string(status_document_step(status, "scratch"), "status");

        if (!point || !is || !path_is_below(where, point))
                return false;
        return !streq(is, "skipped") && !streq(is, "done") && !streq(is, "degraded");
}
