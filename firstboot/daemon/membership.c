/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which steps put the node into a cluster, and whether they have done so in this boot. */

#include "daemon/membership.h"
#include "contract/paths.h"
#include "shared/strv.h"

#include <unistd.h>

/* What each lets run, once it has let it. */
static const struct {
        const char *step, *permit;
} memberships[MEMBERSHIPS] = {
        { "slurm", PATH_SLURMD_PERMIT },
        { "kubernetes", PATH_KUBELET_PERMIT },
};

const char *membership_step(size_t i) {
        return memberships[i].step;
}

bool membership_is_let(const char *step) {
        for (size_t i = 0; i < MEMBERSHIPS; i++) {
                _cleanup_free_ char *path = NULL;

                if (!streq(step, memberships[i].step))
                        continue;
                path = fb_path(memberships[i].permit);
                return path && access(path, F_OK) >= 0;
        }
        return false;
}
