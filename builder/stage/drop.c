/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What stages are made of: all of it, and what no stage still to be made needs. */

#include "stage/internal.h"
#include "stage/stage.h"
#include "store/contents.h"

#include "shared/log.h"
#include "shared/strv.h"

static int by_text(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static const LockedEnvironment *environment_of(const Plan *plan, const Stage *s) {
        return s->kind == STAGE_PYTHON
                               ? lock_find_environment(plan->lock, s->overlay->python.environment)
                               : NULL;
}

/* Adds the digests of all that a stage is made from; borrowed from the lock. */
static size_t add_downloads(const Plan *plan, const Stage *s, const char **digests) {
        const Overlay *o = s->overlay;
        const LockedEnvironment *e;
        size_t n = 0;

        for (size_t i = 0; s->locked && i < s->locked->n_packages; i++)
                digests[n++] = s->locked->packages[i].sha256;
        for (size_t i = 0; o && i < o->n_artifacts; i++) {
                const LockedArtifact *a =
                                lock_find_artifact(plan->lock, o->name, o->artifacts[i].name);

                if (a && plan_stage_uses(s, o->artifacts + i))
                        digests[n++] = a->sha256;
        }
        if (s->kind == STAGE_IMAGE && recipe_image_is_url(plan->recipe))
                digests[n++] = plan->lock->image.sha256;
        e = environment_of(plan, s);
        for (size_t i = 0; e && i < e->n_wheels; i++)
                digests[n++] = e->wheels[i].sha256;
        return n;
}

static size_t count_downloads(const Plan *plan) {
        size_t n = 0;

        for (size_t i = 0; i < plan->n_stages; i++) {
                const Stage *s = plan->stages + i;
                const LockedEnvironment *e = environment_of(plan, s);

                n += (s->locked ? s->locked->n_packages : 0) +
                     (s->overlay ? s->overlay->n_artifacts : 0) + (e ? e->n_wheels : 0) +
                     (s->kind == STAGE_IMAGE);
        }
        return n;
}

int stage_drop_downloads(Context *ctx, const Plan *plan, const bool *missing, size_t last) {
        size_t n = count_downloads(plan), n_needed = 0, n_done = 0, kept = 0;
        _cleanup_free_ const char **needed = calloc(n + 1, sizeof(*needed)),
                                  **done = calloc(n + 1, sizeof(*done));
        int r;

        if (!needed || !done)
                return log_oom();
        for (size_t i = 0; i <= last; i++) {
                const Stage *s = plan->stages + i;

                if (missing[i])
                        n_needed += add_downloads(plan, s, needed + n_needed);
                else
                        n_done += add_downloads(plan, s, done + n_done);
        }
        qsort(needed, n_needed, sizeof(*needed), by_text);
        for (size_t i = 0; i < n_done; i++)
                if (!bsearch(done + i, needed, n_needed, sizeof(*needed), by_text))
                        done[kept++] = done[i];
        done[kept] = NULL;

        r = store_drop_blobs(ctx->store, done);
        if (r == -EBUSY) {
                log_debug("Another imgbuild uses this store: downloads stay");
                return 0;
        }
        return r < 0 ? log_error_errno(r, "Cannot remove downloads that are no longer needed") : 0;
}

int stages_list_downloads(const Plan *plan, const char ***ret) {
        _cleanup_free_ const char **digests = calloc(count_downloads(plan) + 1, sizeof(*digests));
        size_t n = 0, kept = 0;

        if (!digests)
                return log_oom();
        for (size_t i = 0; i < plan->n_stages; i++)
                n += add_downloads(plan, plan->stages + i, digests + n);
        qsort(digests, n, sizeof(*digests), by_text);
        for (size_t i = 0; i < n; i++)
                if (kept == 0 || !streq(digests[i], digests[kept - 1]))
                        digests[kept++] = digests[i];
        digests[kept] = NULL;
        *ret = TAKE_PTR(digests);
        return 0;
}

int stages_fetch_all(Context *ctx, const Plan *plan) {
        _cleanup_free_ bool *missing = calloc(plan->n_stages, sizeof(*missing));

        if (!missing)
                return log_oom();
        memset(missing, true, plan->n_stages);
        return stage_fetch(ctx, plan, missing, plan->n_stages - 1);
}
