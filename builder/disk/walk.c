/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One walk over a tree for all who look at each of its files: fts(3), which carries its context
 * along. */

#include "disk/walk.h"

#include "shared/log.h"

#include <sys/xattr.h>

static int by_name(const FTSENT **a, const FTSENT **b) {
        return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void fts_closep(FTS **fts) {
        if (*fts)
                fts_close(*fts);
}

int walk_tree(const char *root, walk_visit_t visit, void *userdata) {
        char *const paths[] = { (char *) root, NULL };
        _cleanup_(fts_closep) FTS *fts =
                        fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, by_name);
        size_t root_length = strlen(root);

        if (!fts)
                return -errno;
        for (;;) {
                const char *inside;
                int r;

                errno = 0;
                const FTSENT *e = fts_read(fts);
                if (!e)
                        return -errno; /* 0 at the end */

                inside = e->fts_path + root_length;
                if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
                        return log_error_errno(e->fts_errno, "Cannot read %s of the tree",
                                        *inside ? inside : "/");
                r = visit(e, inside, userdata);
                if (r < 0)
                        return r;
        }
}

bool walk_has_access_list(const FTSENT *e) {
        return S_ISREG(e->fts_statp->st_mode) &&
               lgetxattr(e->fts_accpath, "system.posix_acl_access", NULL, 0) >= 0;
}
