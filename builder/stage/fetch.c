/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a build needs of the network, in one download: the packages and artifacts of every stage
 * that is to be made. */

#include "stage/internal.h"
#include "store/store.h"
#include "lock/lock.h"

#include "store/fetch.h"
#include "shared/log.h"
#include "shared/strv.h"

#define DOWNLOAD "download"

static int fetch_debs(
                Context *ctx, const Plan *plan, const bool *missing, size_t last, bool *announced) {
        _cleanup_free_ LockedPackage *packages = NULL;
        LockedStage all = { .id = (char *) DOWNLOAD };
        size_t room = 0;

        for (size_t i = 0; i <= last; i++)
                if (missing[i] && plan->stages[i].locked)
                        room += plan->stages[i].locked->n_packages;
        packages = calloc(room + 1, sizeof(*packages));
        if (!packages)
                return log_oom();
        for (size_t i = 0; i <= last; i++) {
                const LockedStage *locked = missing[i] ? plan->stages[i].locked : NULL;

                for (size_t k = 0; locked && k < locked->n_packages; k++)
                        if (!store_has_blob(ctx->store, locked->packages[k].sha256))
                                packages[all.n_packages++] = locked->packages[k]; /* borrowed */
        }
        if (all.n_packages == 0)
                return 0;
        all.packages = packages;
        progress_add(ctx->progress, DOWNLOAD);
        progress_set(ctx->progress, DOWNLOAD, PROGRESS_RUNNING);
        *announced = true;
        return fetch_packages(ctx, plan->recipe, plan->lock, &all, DOWNLOAD);
}

static int fetch_artifacts(
                Context *ctx, const Plan *plan, const bool *missing, size_t last, bool *announced) {
        _cleanup_free_ FetchItem *items = calloc(plan->lock->n_artifacts + 1, sizeof(*items));
        size_t n = 0;

        if (!items)
                return log_oom();
        for (size_t i = 0; i <= last; i++) {
                const Overlay *o = plan->stages[i].overlay;

                if (!missing[i] || plan->stages[i].kind != STAGE_ARTIFACTS)
                        continue;
                for (size_t k = 0; k < o->n_artifacts; k++) {
                        const LockedArtifact *a = lock_find_artifact(
                                        plan->lock, o->name, o->artifacts[k].name);

                        if (a && !store_has_blob(ctx->store, a->sha256) &&
                                        n < plan->lock->n_artifacts)
                                items[n++] = (FetchItem) { .url = a->url,
                                        .sha256 = a->sha256,
                                        .size = a->size,
                                        .what = a->name };
                }
        }
        if (n == 0)
                return 0;
        if (!*announced) {
                progress_add(ctx->progress, DOWNLOAD);
                progress_set(ctx->progress, DOWNLOAD, PROGRESS_RUNNING);
                *announced = true;
        }
        return fetch_all(ctx, DOWNLOAD, items, n);
}

int stage_fetch(Context *ctx, const Plan *plan, const bool *missing, size_t last) {
        bool announced = false;
        int r;

        r = fetch_debs(ctx, plan, missing, last, &announced);
        if (r >= 0)
                r = fetch_artifacts(ctx, plan, missing, last, &announced);
        if (announced)
                progress_set(ctx->progress, DOWNLOAD, r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        return r;
}
