/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a build needs of the network, in one download: the packages and artifacts of every stage
 * that is to be made. */

#include "stage/internal.h"
#include "store/verify.h"
#include "lock/lock.h"

#include "store/fetch.h"

#include "shared/log.h"
#include "shared/strv.h"

#define DOWNLOAD "download"

/* What is to be downloaded: for which stages, and whether the display shows it already. */
typedef struct Downloads {
        Context *ctx;
        const Plan *plan;
        const bool *missing; /* one flag a stage */
        size_t last;
        bool announced;
} Downloads;

static void announce(Downloads *d) {
        if (d->announced)
                return;
        progress_add(d->ctx->progress, DOWNLOAD);
        progress_set(d->ctx->progress, DOWNLOAD, PROGRESS_RUNNING);
        d->announced = true;
}

static const LockedStage *missing_packages(const Downloads *d, size_t i) {
        return d->missing[i] ? d->plan->stages[i].locked : NULL;
}

static int fetch_debs(Downloads *d) {
        _cleanup_free_ LockedPackage *packages = NULL;
        LockedStage all = { .id = (char *) DOWNLOAD };
        size_t room = 0;

        for (size_t i = 0; i <= d->last; i++) {
                const LockedStage *locked = missing_packages(d, i);

                room += locked ? locked->n_packages : 0;
        }
        packages = calloc(room + 1, sizeof(*packages));
        if (!packages)
                return log_oom();

        for (size_t i = 0; i <= d->last; i++) {
                const LockedStage *locked = missing_packages(d, i);

                for (size_t k = 0; locked && k < locked->n_packages; k++)
                        if (store_check_blob(d->ctx->store, locked->packages[k].sha256) <= 0)
                                packages[all.n_packages++] = locked->packages[k]; /* borrowed */
        }
        if (all.n_packages == 0)
                return 0;

        all.packages = packages;
        announce(d);
        return fetch_packages(d->ctx, d->plan->recipe, d->plan->lock, &all, DOWNLOAD);
}

/* Adds what the store lacks of one stage's artifacts. `items` has room for all of the lock's. */
static void add_artifacts(const Downloads *d, const Stage *s, FetchItem *items, size_t *n) {
        const Overlay *o = s->overlay;

        for (size_t k = 0; o && k < o->n_artifacts && *n < d->plan->lock->n_artifacts; k++) {
                const LockedArtifact *a =
                                lock_find_artifact(d->plan->lock, o->name, o->artifacts[k].name);

                if (!a || !plan_stage_uses(s, o->artifacts + k) ||
                                store_check_blob(d->ctx->store, a->sha256) > 0)
                        continue;
                items[(*n)++] = (FetchItem) { .url = a->url,
                        .sha256 = a->sha256,
                        .size = a->size,
                        .what = a->name,
                        .file = o->file };
        }
}

static int fetch_artifacts(Downloads *d) {
        _cleanup_free_ FetchItem *items = calloc(d->plan->lock->n_artifacts + 1, sizeof(*items));
        size_t n = 0;

        if (!items)
                return log_oom();
        for (size_t i = 0; i <= d->last; i++)
                if (d->missing[i])
                        add_artifacts(d, d->plan->stages + i, items, &n);
        if (n == 0)
                return 0;

        announce(d);
        return fetch_all(d->ctx, DOWNLOAD, items, n);
}

/* Looked at byte by byte, as packages are: one that was damaged in the store is fetched again. */
static bool lacks_wheels(const Downloads *d, const LockedEnvironment *e) {
        bool lacks = false;

        for (size_t i = 0; i < e->n_wheels; i++)
                lacks |= store_check_blob(d->ctx->store, e->wheels[i].sha256) <= 0;
        return lacks;
}

static int fetch_environments(Downloads *d) {
        for (size_t i = 0; i <= d->last; i++) {
                const Stage *s = d->plan->stages + i;
                const LockedEnvironment *e;
                int r;

                if (!d->missing[i] || s->kind != STAGE_PYTHON)
                        continue;
                e = lock_find_environment(d->plan->lock, s->overlay->python.environment);
                if (!e || !lacks_wheels(d, e))
                        continue;
                announce(d);
                r = fetch_wheels(d->ctx, d->plan->recipe, e, DOWNLOAD);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A file is read where it lies. */
static int fetch_image(Downloads *d) {
        const LockedImage *image = &d->plan->lock->image;
        FetchItem item = { .url = d->plan->recipe->base.image,
                .sha256 = image->sha256,
                .size = image->size,
                .what = "the base image",
                .file = d->plan->recipe->path };

        if (d->plan->stages[0].kind != STAGE_IMAGE || !d->missing[0] ||
                        !recipe_image_is_url(d->plan->recipe) ||
                        store_check_blob(d->ctx->store, image->sha256) > 0)
                return 0;
        announce(d);
        return fetch_all(d->ctx, DOWNLOAD, &item, 1);
}

static int fetch_everything(Downloads *d) {
        int r;

        r = fetch_image(d);
        if (r < 0)
                return r;

        r = fetch_debs(d);
        if (r < 0)
                return r;
        r = fetch_artifacts(d);
        return r < 0 ? r : fetch_environments(d);
}

int stage_fetch(Context *ctx, const Plan *plan, const bool *missing, size_t last) {
        Downloads d = { .ctx = ctx, .plan = plan, .missing = missing, .last = last };
        int r = fetch_everything(&d);

        if (d.announced)
                progress_set(ctx->progress, DOWNLOAD, r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        return r;
}
