/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a plan to layers: what is missing is downloaded in one go, then each missing stage is made
 * on top of those below it. A stage's layer is begun under its digest's lock, so that builds at
 * the same time share the work. */

#include "stage/stage.h"
#include "stage/internal.h"
#include "store/verify.h"

#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "shared/time-util.h"

static int (*const stage_functions[])(StageBuild *b) = {
        [STAGE_BASE] = stage_base,
        [STAGE_IMAGE] = stage_image,
        [STAGE_PACKAGES] = stage_packages,
        [STAGE_ARTIFACTS] = stage_artifacts,
        [STAGE_COMPILE] = stage_compile,
        [STAGE_PYTHON] = stage_python,
        [STAGE_FILES] = stage_files,
        [STAGE_RUN] = stage_run,
        [STAGE_INITRAMFS] = stage_initramfs,
        [STAGE_SERVICES] = stage_services,
        [STAGE_FINALIZE] = stage_finalize,
};

int stages_layers(Context *ctx, const Plan *plan, size_t last, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;

        for (size_t i = 0; i < plan->n_stages && i <= last; i++) {
                int r = strv_push(&l, store_layer_tree(ctx->store, plan->stages[i].digest));

                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(l);
        return 0;
}

/* The layers that stage i is made on, lowest first. */
static int layers_seen(Context *ctx, const Plan *plan, size_t i, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;

        for (size_t j = 0; j < i; j++) {
                int r;

                if (!plan_stage_sees(plan, i, j))
                        continue;
                r = strv_push(&l, store_layer_tree(ctx->store, plan->stages[j].digest));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(l);
        return 0;
}

static int commit(StageBuild *b, LayerDraft *draft, uint64_t started) {
        _cleanup_json_ json_object *meta = NULL;
        double seconds = (double) (now_usec() - started) / USEC_PER_SEC;
        int r;

        r = stage_describe(b->plan, (size_t) (b->stage - b->plan->stages), b->made_with, &meta);
        if (r < 0 || json_set_fields(meta, JSON_DOUBLE("seconds", seconds)) < 0)
                return log_oom();
        r = store_commit_layer(draft, stage_newest_time(b->plan, b->stage), meta);
        if (r == -EFBIG)
                return log_error_return(-EIO,
                                "Stage %s: its files have more than 1 TiB, holes included: it made a sparse file that no image has room for",
                                b->stage->id);
        if (r < 0)
                return log_error_errno(
                                r, "Stage %s: cannot keep its layer in the store", b->stage->id);
        return 0;
}

/* A run script may call package management's programs, too. */
static bool has_package_management(StageKind kind) {
        return kind == STAGE_BASE || kind == STAGE_PACKAGES || kind == STAGE_ARTIFACTS ||
               kind == STAGE_RUN;
}

static int make_layer(StageBuild *b) {
        int r;

        r = stage_functions[b->stage->kind](b);
        if (r == -ENOSPC || r == -EDQUOT)
                return log_error_errno(r, "Stage %s: %s is full; imgbuild cache prune makes room",
                                b->stage->id, store_path(b->ctx->store));
        if (r < 0)
                return r;
        return has_package_management(b->stage->kind) ? tidy_layer(b) : 0;
}

static int make_and_commit(StageBuild *b, LayerDraft *draft, uint64_t started) {
        int r = make_layer(b);

        return r < 0 ? r : commit(b, draft, started);
}

/* Returns 1 where another build made the layer meanwhile. */
static int build_stage(Context *ctx, const Plan *plan, const Maker *maker, size_t i) {
        const Stage *stage = plan->stages + i;
        _cleanup_layer_draft_free_ LayerDraft *draft = NULL;
        _cleanup_strv_free_ char **below = NULL;
        uint64_t started = now_usec();
        Limits limits = plan->recipe->limits;
        StageBuild b;
        int r;

        if (stage->overlay)
                limits = limits_over(&stage->overlay->limits, &limits);
        r = store_begin_layer(ctx->store, stage->digest, &draft);
        if (r > 0)
                return 1;
        if (r == -ECANCELED)
                return r;
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot begin its layer", stage->id);
        r = layers_seen(ctx, plan, i, &below);
        if (r < 0)
                return log_oom();

        b = (StageBuild) {
                .ctx = ctx,
                .plan = plan,
                .stage = stage,
                .maker = maker,
                .sandbox = {
                        .store = ctx->store,
                        .layers = below,
                        .upper = layer_draft_upper(draft),
                        .work = layer_draft_work(draft),
                        .epoch = plan->lock->epoch,
                        .limits = &limits,
                },
        };
        progress_set(ctx->progress, stage->id, PROGRESS_RUNNING);
        r = make_and_commit(&b, draft, started);
        json_object_put(b.made_with);
        return r;
}

/* Announces stages 0…last. Returns whether any is missing. */
static bool find_missing(Context *ctx, const Plan *plan, size_t last, bool *missing) {
        bool any = false;

        for (size_t i = 0; i <= last; i++) {
                const Stage *stage = plan->stages + i;

                progress_add(ctx->progress, stage->id);
                /* Touching also holds it: nobody prunes it from here on. */
                missing[i] = store_check_layer(ctx->store, stage->digest) <= 0 ||
                             store_touch_layer(ctx->store, stage->digest) < 0;
                if (!missing[i])
                        progress_set(ctx->progress, stage->id, PROGRESS_CACHED);
                any |= missing[i];
        }
        return any;
}

static int build_missing(Context *ctx, const BesideWork *work, Beside *beside, size_t i) {
        const Stage *stage = work->plan->stages + i;
        int r;

        if (interrupt_signal())
                return -ECANCELED;
        r = beside_has(beside, i) ? beside_finish(beside, i)
                                  : build_stage(ctx, work->plan, work->maker, i);
        progress_set(ctx->progress, stage->id,
                        r < 0   ? PROGRESS_FAILED
                        : r > 0 ? PROGRESS_CACHED
                                : PROGRESS_DONE);
        if (r < 0)
                return r;

        r = store_touch_layer(ctx->store, stage->digest);
        if (r < 0)
                return log_error_errno(r, "Stage %s: its layer vanished from the store", stage->id);
        return 0;
}

static int build_all(
                Context *ctx, const Plan *plan, const Maker *maker, bool *missing, size_t last) {
        _cleanup_(beside_freep) Beside *beside = beside_new(plan);
        const BesideWork work = { .plan = plan, .maker = maker, .build = build_stage };
        int r;

        if (!beside)
                return log_oom();
        for (size_t i = 0; i <= last; i++) {
                if (!missing[i])
                        continue;
                beside_begin(beside, ctx, &work, missing, last);
                r = build_missing(ctx, &work, beside, i);
                if (r < 0)
                        return r;
                missing[i] = false;
                r = ctx->drop_downloads ? stage_drop_downloads(ctx, plan, missing, last) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* For imgbuild plan alone, so that its failure is none of the build's. */
static void keep_record(Context *ctx, const Plan *plan, const bool *missing, size_t last) {
        int r = plan_record_write(ctx->store, plan, missing, last);

        if (r < 0)
                log_debug("The record of what the stages were made of cannot be kept: %s",
                                strerror(-r));
}

int stages_build(Context *ctx, const Plan *plan, const Maker *maker, size_t last) {
        _cleanup_free_ bool *missing = calloc(plan->n_stages, sizeof(bool));
        int r;

        if (!missing)
                return log_oom();
        last = MIN(last, plan->n_stages - 1);
        if (!find_missing(ctx, plan, last, missing)) {
                keep_record(ctx, plan, missing, last);
                return ctx->drop_downloads ? stage_drop_downloads(ctx, plan, missing, last) : 0;
        }

        r = stage_take_remote(ctx, plan, missing, last);
        if (r < 0)
                return r;
        stage_tell_remote(ctx, missing, last);
        r = stage_have_secrets(ctx, plan, missing, last);
        if (r < 0)
                return r;
        r = stage_fetch(ctx, plan, missing, last);
        if (r < 0)
                return r;
        r = build_all(ctx, plan, maker, missing, last);
        keep_record(ctx, plan, missing, last);
        return r;
}
