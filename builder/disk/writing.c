/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A disk is written beside the checks of its tree: both only read it, and neither keeps more than
 * one processor busy. Where a check fails, the disk was for nothing, and ends. */

#include "disk/disk.h"

#include "common/apart.h"

#include <sys/mman.h>

struct DiskWriting {
        Context *ctx;
        const Plan *plan;
        Tools *tools;
        char *const *layers;
        char *path;
        DiskInfo *info; /* shared with the process */
        Apart *apart;   /* NULL: there is none, and disk_writing_finish() writes the disk */
};

static int write_disk(Context *ctx, void *userdata) {
        const DiskWriting *w = userdata;

        return disk_build(ctx, w->plan, w->tools, w->layers, w->path, w->info);
}

int disk_writing_begin(Context *ctx, const Plan *plan, Tools *tools, char *const *layers,
                const char *path, DiskWriting **ret) {
        _cleanup_disk_writing_free_ DiskWriting *w = calloc(1, sizeof(*w));

        if (!w)
                return log_oom();
        *w = (DiskWriting) {
                .ctx = ctx,
                .plan = plan,
                .tools = tools,
                .layers = layers,
                .path = strdup(path),
                .info = mmap(NULL, sizeof(*w->info), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0),
        };
        if (!w->path || w->info == MAP_FAILED)
                return log_oom();
        if (ctx->jobs > 1)
                (void) apart_begin(ctx, write_disk, w, &w->apart);
        *ret = TAKE_PTR(w);
        return 0;
}

int disk_writing_finish(DiskWriting *w, DiskInfo *ret) {
        int r = w->apart ? apart_finish(w->apart, "The disk") : write_disk(w->ctx, w);

        if (r < 0)
                return r;
        *ret = *w->info;
        return 0;
}

DiskWriting *disk_writing_free(DiskWriting *w) {
        if (!w)
                return NULL;
        apart_free(w->apart);
        if (w->info && w->info != MAP_FAILED)
                munmap(w->info, sizeof(*w->info));
        free(w->path);
        free(w);
        return NULL;
}
