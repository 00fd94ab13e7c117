/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a plan to layers: what is missing is downloaded in one go, then each missing stage is made
 * on top of those below it. A stage's layer is begun under its digest's lock, so that builds at
 * the same time share the work. */

#include "stage/internal.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <sys/statvfs.h>

#define LINES_SHOWN 40             /* of a failing command's output */
#define ROOM_MIN (4 * 1024 * 1024) /* bytes: with less, a failure is the full disk's */

static int (*const stage_functions[])(StageBuild *b) = {
        [STAGE_BASE] = stage_base,
        [STAGE_PACKAGES] = stage_packages,
        [STAGE_ARTIFACTS] = stage_artifacts,
        [STAGE_COMPILE] = stage_compile,
        [STAGE_FILES] = stage_files,
        [STAGE_RUN] = stage_run,
        [STAGE_INITRAMFS] = stage_initramfs,
        [STAGE_SERVICES] = stage_services,
        [STAGE_FINALIZE] = stage_finalize,
};

typedef struct Output {
        Context *ctx;
        const char *stage_id;
        const SpawnOptions *caller; /* its on_line is called too */
        FILE *log;
        uint64_t started;
        char *last[LINES_SHOWN];
        size_t n;
} Output;

static void output_done(Output *o) {
        if (o->log)
                fclose(o->log);
        for (size_t i = 0; i < LINES_SHOWN; i++)
                free(o->last[i]);
}

static void output_line(const char *line, void *userdata) {
        Output *o = userdata;
        char **slot = o->last + o->n++ % LINES_SHOWN;

        free(*slot);
        *slot = strdup(line);
        fprintf(o->log, "%7.2f %s\n", (double) (now_usec() - o->started) / USEC_PER_SEC, line);
        progress_detail(o->ctx->progress, o->stage_id, line);
        if (o->caller && o->caller->on_line)
                o->caller->on_line(line, o->caller->line_data);
}

static void output_show(const Output *o, const char *log_path) {
        for (size_t i = o->n > LINES_SHOWN ? o->n - LINES_SHOWN : 0; i < o->n; i++)
                if (o->last[i % LINES_SHOWN])
                        log_notice("  | %s", o->last[i % LINES_SHOWN]);
        log_notice("The whole output: %s", log_path);
}

/* A full disk shows as any kind of failure in a command. */
static bool store_is_full(Store *s) {
        struct statvfs st;

        return statvfs(store_path(s), &st) >= 0 && (uint64_t) st.f_bavail * st.f_frsize < ROOM_MIN;
}

static int run_command(Context *ctx, const char *stage_id, const Sandbox *sandbox,
                const SpawnOptions *options, char *const argv[], bool show, int *ret_status) {
        _cleanup_(output_done) Output output = {
                .ctx = ctx, .stage_id = stage_id, .caller = options, .started = now_usec()
        };
        _cleanup_free_ char *path = NULL, *command = NULL;
        SpawnOptions o = options ? *options : (SpawnOptions) {};
        int r, status;

        r = store_log_path(ctx->store, stage_id, &path);
        command = strv_join(argv, " ");
        if (r < 0 || !command)
                return log_oom();
        output.log = fopen(path, "ae");
        if (!output.log)
                return log_error_errno(-errno, "%s: cannot write the stage's log", path);
        log_debug("Stage %s: %s", stage_id, command);
        fprintf(output.log, "+ %s\n", command);

        o.on_line = output_line;
        o.line_data = &output;
        r = sandbox_run(sandbox, &o, argv, &status);
        fflush(output.log);
        if (r == -ECANCELED || (interrupt_signal() && (r < 0 || status != 0)))
                return -ECANCELED; /* Ctrl-C reaches the command too, and it may end first */
        if (r < 0) {
                log_error_errno(r, "Stage %s: cannot run %s", stage_id, argv[0]);
                if (output.n > 0) /* what the sandbox's child said before it became the command */
                        output_show(&output, path);
                return r;
        }
        if (status != 0 && show) {
                log_error("Stage %s: %s ended with exit code %d; its last lines were", stage_id,
                                argv[0], status);
                output_show(&output, path);
                if (store_is_full(ctx->store))
                        return -ENOSPC;
        }
        *ret_status = status;
        return 0;
}

int stage_command(Context *ctx, const char *stage_id, const Sandbox *sandbox,
                const SpawnOptions *options, char *const argv[], int *ret_status) {
        int status, r = run_command(ctx, stage_id, sandbox, options, argv, !ret_status, &status);

        if (r < 0)
                return r;
        if (ret_status)
                *ret_status = status;
        else if (status != 0)
                return -EIO;
        return 0;
}

int stage_command_shown(Context *ctx, const char *stage_id, const Sandbox *sandbox,
                const SpawnOptions *options, char *const argv[], int *ret_status) {
        return run_command(ctx, stage_id, sandbox, options, argv, true, ret_status);
}

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

/* The layers that stage i is made on, lowest first; *ret_parent: the highest stage of them, or
 * NULL. */
static int layers_seen(
                Context *ctx, const Plan *plan, size_t i, const Stage **ret_parent, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;
        const Stage *parent = NULL;

        for (size_t j = 0; j < i; j++) {
                if (!plan_stage_sees(plan, i, j))
                        continue;
                parent = plan->stages + j;
                int r = strv_push(&l, store_layer_tree(ctx->store, parent->digest));
                if (r < 0)
                        return r;
        }
        *ret_parent = parent;
        *ret = TAKE_PTR(l);
        return 0;
}

static int commit(StageBuild *b, const Stage *parent, LayerDraft *draft, uint64_t started) {
        _cleanup_json_ json_object *meta = json_object_new_object();
        int r;

        if (!meta)
                return log_oom();
        r = json_set_string(meta, "recipe", b->plan->recipe->name);
        if (r >= 0)
                r = json_set_string(meta, "stage", b->stage->id);
        if (r >= 0)
                r = json_set_string(meta, "kind", stage_kind_name(b->stage->kind));
        if (r >= 0)
                r = json_set_string(meta, "parent", parent ? parent->digest : NULL);
        if (r >= 0)
                r = json_set(meta, "seconds",
                                json_object_new_double(
                                                (double) (now_usec() - started) / USEC_PER_SEC));
        if (r >= 0)
                r = store_commit_layer(draft, b->plan->lock->epoch, meta);
        return r < 0 ? log_error_errno(r, "Stage %s: cannot keep its layer in the store",
                                       b->stage->id)
                     : 0;
}

/* A run script may call package management's programs, too. */
static bool has_package_management(StageKind kind) {
        return kind == STAGE_BASE || kind == STAGE_PACKAGES || kind == STAGE_ARTIFACTS ||
               kind == STAGE_RUN;
}

static int build_stage(Context *ctx, const Plan *plan, size_t i) {
        const Stage *stage = plan->stages + i, *parent;
        _cleanup_layer_draft_free_ LayerDraft *draft = NULL;
        _cleanup_strv_free_ char **below = NULL;
        uint64_t started = now_usec();
        StageBuild b;
        int r;

        r = store_begin_layer(ctx->store, stage->digest, &draft);
        if (r > 0)
                return 1;
        if (r == -ECANCELED)
                return r;
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot begin its layer", stage->id);
        r = layers_seen(ctx, plan, i, &parent, &below);
        if (r < 0)
                return log_oom();
        b = (StageBuild) {
                .ctx = ctx,
                .plan = plan,
                .stage = stage,
                .sandbox = {
                        .store = ctx->store,
                        .layers = below,
                        .upper = layer_draft_upper(draft),
                        .work = layer_draft_work(draft),
                        .epoch = plan->lock->epoch,
                },
        };
        progress_set(ctx->progress, stage->id, PROGRESS_RUNNING);
        r = stage_functions[stage->kind](&b);
        if (r == -ECANCELED)
                return r;
        if (r == -ENOSPC || r == -EDQUOT)
                return log_error_errno(r, "Stage %s: %s is full; imgbuild cache prune makes room",
                                stage->id, store_path(ctx->store));
        if (r >= 0 && has_package_management(stage->kind))
                r = stage_tidy(&b);
        return r < 0 ? r : commit(&b, parent, draft, started);
}

int stages_build(Context *ctx, const Plan *plan, size_t last) {
        _cleanup_free_ bool *missing = calloc(plan->n_stages, sizeof(bool));
        bool any = false;
        int r;

        if (!missing)
                return log_oom();
        last = MIN(last, plan->n_stages - 1);
        for (size_t i = 0; i <= last; i++) {
                progress_add(ctx->progress, plan->stages[i].id);
                /* Touching also holds it: nobody prunes it from here on. */
                missing[i] = !store_has_layer(ctx->store, plan->stages[i].digest) ||
                             store_touch_layer(ctx->store, plan->stages[i].digest) < 0;
                if (!missing[i])
                        progress_set(ctx->progress, plan->stages[i].id, PROGRESS_CACHED);
                any |= missing[i];
        }
        if (!any)
                return 0;
        r = stage_fetch(ctx, plan, missing, last);
        if (r < 0)
                return r;
        for (size_t i = 0; i <= last; i++) {
                if (!missing[i])
                        continue;
                if (interrupt_signal())
                        return -ECANCELED;
                r = build_stage(ctx, plan, i);
                progress_set(ctx->progress, plan->stages[i].id,
                                r < 0   ? PROGRESS_FAILED
                                : r > 0 ? PROGRESS_CACHED
                                        : PROGRESS_DONE);
                if (r < 0)
                        return r;
                r = store_touch_layer(ctx->store, plan->stages[i].digest);
                if (r < 0)
                        return log_error_errno(r, "Stage %s: its layer vanished from the store",
                                        plan->stages[i].id);
        }
        return 0;
}
