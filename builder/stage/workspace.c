/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Laid out before packages are installed, and gone with the stage, however that ends. */

#include "stage/workspace.h"
#include "stage/shims.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/log.h"

void workspace_done(Workspace *w) {
        char *const folders[] = { w->packages, w->shims, w->later };

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                if (folders[i])
                        (void) rm_rf(folders[i]);
                free(folders[i]);
        }
        *w = (Workspace) {};
}

static int make_folders(StageBuild *b, char *const *blobs, char *const *names, Workspace *w) {
        int r;

        r = stage_link_debs(b, blobs, names, &w->packages);
        if (r < 0)
                return r;
        r = shims_write(b->ctx->store, &w->shims);
        if (r < 0)
                return r;
        return store_scratch(b->ctx->store, "later", &w->later);
}

int workspace_make(StageBuild *b, char *const *blobs, char *const *names, Workspace *ret) {
        _cleanup_workspace_ Workspace w = {};
        int r;

        r = make_folders(b, blobs, names, &w);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot lay out its packages", b->stage->id);
        *ret = w;
        w = (Workspace) {};
        return 0;
}
