/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which steps put the node into a cluster, and whether they have done so in this boot. */

#include "daemon/membership.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <unistd.h>

/* What each lets run, once it has let it; and what its daemon may run by where it has nothing to
 * do. The drop-ins of both daemons ask for one of the two. */
static const struct {
        const char *step, *permit, *by_hand;
} memberships[MEMBERSHIPS] = {
        { "slurm", PATH_SLURMD_PERMIT, PATH_SLURMD_BY_HAND },
        { "kubernetes", PATH_KUBELET_PERMIT, PATH_KUBELET_BY_HAND },
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

void membership_leave(size_t i, bool left) {
        static const char word[] = "by hand\n";
        _cleanup_free_ char *path = fb_path(memberships[i].by_hand);
        int r;

        if (!path) {
                log_oom();
                return;
        }
        if (!left) {
                (void) unlink(path);
                return;
        }
        r = access(path, F_OK) >= 0 ? 0 : write_file_atomic(path, word, strlen(word), 0644);
        if (r < 0)
                log_error_errno(r, "Cannot write %s, so that the daemon of step %s does not start",
                                path, memberships[i].step);
}
