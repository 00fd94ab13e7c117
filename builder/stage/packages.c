/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A stage of packages: the kernel's, an overlay's or the recipe's own. install.c installs them;
 * what goes with them is here: the kernel is put on hold, the overlay's repositories stay. */

#include "stage/internal.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

/* "PACKAGE hold" for each kernel of the stage; "" where it has none. */
static int kernel_selections(const LockedStage *locked, char **ret) {
        _cleanup_strv_free_ char **lines = NULL;

        for (size_t i = 0; i < locked->n_packages; i++) {
                int r;

                if (!startswith(locked->packages[i].name, "linux-image-"))
                        continue;
                r = strv_extendf(&lines, "%s hold\n", locked->packages[i].name);
                if (r < 0)
                        return r;
        }
        *ret = strv_join(lines, "");
        return *ret ? 0 : -ENOMEM;
}

/* A kernel that moved on its own would be one without the image's modules. */
static int hold_kernel(StageBuild *b) {
        _cleanup_free_ char *folder = NULL, *path = NULL, *text = NULL;
        SpawnOptions options = {};
        int r;

        r = kernel_selections(b->stage->locked, &text);
        if (r < 0)
                return log_oom();
        if (isempty(text))
                return 0;

        r = store_scratch(b->ctx->store, "hold", &folder);
        if (r < 0)
                return log_error_errno(r, "Stage %s: no room in the store", b->stage->id);
        path = path_join(folder, "selections");
        if (!path)
                return log_oom();
        r = write_file_atomic(path, text, strlen(text), 0644);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot write %s", b->stage->id, path);

        options.stdin_path = path;
        return logged_command(b->ctx, b->stage->id, &b->sandbox, &options,
                        ARGV("dpkg", "--set-selections"));
}

int stage_packages(StageBuild *b) {
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;
        const Overlay *o = b->stage->overlay;
        int r;

        r = stage_locked_debs(b, b->stage->locked, &blobs, &names);
        if (r < 0)
                return r == -ENOMEM ? log_oom() : r;
        r = stage_install(b, &b->sandbox, blobs, names);
        if (r < 0)
                return r;

        if (streq(b->stage->id, "kernel") && b->plan->recipe->family == FAMILY_DEBIAN) {
                r = hold_kernel(b);
                if (r < 0)
                        return r;
        }
        return o ? stage_write_sources(b, o->repositories, o->n_repositories) : 0;
}
