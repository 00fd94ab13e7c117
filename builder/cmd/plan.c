/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild plan: what a build would do. */

#include "plan/plan.h"
#include "store/remote.h"
#include "store/store.h"
#include "shared/json-util.h"
#include "shared/size.h"
#include "cmd/verb.h"

enum { OPT_JSON = OPT_VERB, OPT_LOCK };

typedef struct PlanOptions {
        bool json, lock;
} PlanOptions;

static uint64_t wheels_size(Context *ctx, const Plan *plan, const Stage *s) {
        const LockedEnvironment *e =
                        lock_find_environment(plan->lock, s->overlay->python.environment);
        uint64_t size = 0;

        for (size_t i = 0; e && i < e->n_wheels; i++)
                if (!store_has_blob(ctx->store, e->wheels[i].sha256))
                        size += e->wheels[i].size;
        return size;
}

/* Bytes of the stage's packages, artifacts and wheels that the store lacks. */
static uint64_t download_size(Context *ctx, const Plan *plan, const Stage *s) {
        uint64_t size = 0;

        for (size_t i = 0; s->locked && i < s->locked->n_packages; i++)
                if (!store_has_blob(ctx->store, s->locked->packages[i].sha256))
                        size += s->locked->packages[i].size;
        for (size_t i = 0; s->overlay && i < s->overlay->n_artifacts; i++) {
                const LockedArtifact *a = lock_find_artifact(
                                plan->lock, s->overlay->name, s->overlay->artifacts[i].name);
                if (a && plan_stage_uses(s, s->overlay->artifacts + i) &&
                                !store_has_blob(ctx->store, a->sha256))
                        size += a->size;
        }
        if (s->kind == STAGE_PYTHON)
                size += wheels_size(ctx, plan, s);
        return size;
}

/* Where a stage's layer will come from, and what has to be downloaded for it. */
typedef struct Source {
        bool cached, remote;
        uint64_t download; /* bytes */
} Source;

/* 1: the remote store has it. */
static int ask_remote(Context *ctx, const Stage *s, uint64_t *ret_size) {
        _cleanup_remote_layer_ RemoteLayer l = {};
        _cleanup_free_ char *why = NULL;
        int r;

        if (ctx->offline || !remote_is_usable(ctx->remote))
                return 0;
        r = remote_find(ctx->remote, s->digest, &l, &why);
        if (r > 0)
                *ret_size = l.size;
        if (r >= 0 || r == -ECANCELED || r == -ENOMEM)
                return r;
        if (r == -EBADMSG) {
                log_warning("The remote store %s: stage %s: %s", remote_url(ctx->remote), s->id,
                                strempty(why));
                return 0;
        }
        log_warning("The remote store %s cannot be asked: %s", remote_url(ctx->remote),
                        isempty(why) ? strerror(-r) : why);
        remote_give_up(ctx->remote);
        return 0;
}

static int find_sources(Context *ctx, const Plan *plan, Source **ret) {
        _cleanup_free_ Source *sources = calloc(plan->n_stages, sizeof(*sources));

        if (!sources)
                return -ENOMEM;
        for (size_t i = 0; i < plan->n_stages; i++) {
                const Stage *s = plan->stages + i;
                Source *from = sources + i;
                int r;

                from->cached = store_has_layer(ctx->store, s->digest);
                if (from->cached)
                        continue;
                r = ask_remote(ctx, s, &from->download);
                if (r < 0)
                        return r;
                from->remote = r > 0;
                if (!from->remote)
                        from->download = download_size(ctx, plan, s);
        }
        *ret = TAKE_PTR(sources);
        return 0;
}

static int stage_json(const Plan *plan, size_t i, const Source *from, json_object *record,
                json_object *list) {
        const Stage *s = plan->stages + i;
        _cleanup_free_ char *why = from->cached || from->remote ? NULL : plan_why(plan, i, record);
        json_object *o;
        int r;

        r = json_append_object(list, &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("why", why), JSON_STRING("id", s->id),
                        JSON_STRING("kind", stage_kind_name(s->kind)),
                        JSON_STRING("digest", s->digest), JSON_BOOL("cached", from->cached),
                        JSON_BOOL("remote", from->remote),
                        JSON_INT("packages", s->locked ? s->locked->n_packages : 0),
                        JSON_INT("download", from->download));
}

static int show_json(const Plan *plan, const Source *sources, json_object *record) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *list = json_object_new_array(), *recipe = NULL;
        int r;

        if (!o || json_set(o, "stages", list) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < plan->n_stages; i++) {
                r = stage_json(plan, i, sources + i, record, list);
                if (r < 0)
                        return r;
        }

        r = recipe_to_json(plan->recipe, &recipe);
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_TAKE("recipe", recipe), JSON_STRING("kernel", plan->kernel),
                        JSON_STRING("digest", plan->stages[plan->n_stages - 1].digest));
        if (r < 0)
                return r;
        json_print(o, JSON_C_TO_STRING_SPACED);
        return 0;
}

static void show_sum(const Plan *plan, const Source *sources) {
        char download[FORMAT_BYTES_MAX];
        uint64_t total = 0;
        size_t cached = 0, remote = 0;

        for (size_t i = 0; i < plan->n_stages; i++) {
                cached += sources[i].cached;
                remote += sources[i].remote;
                total += sources[i].download;
        }
        printf("\n%zu stages, %zu cached, ", plan->n_stages, cached);
        if (remote > 0)
                printf("%zu remote, ", remote);
        printf("%zu to run, %s to download.", plan->n_stages - cached - remote,
                        format_bytes(download, total));
        if (plan->kernel)
                printf(" Kernel %s.", plan->kernel);
        if (plan->maker_kind == MAKER_UNKNOWN)
                printf(" The tools are not locked yet: digests are other ones when they are.");
        printf("\n");
}

static void show_table(const Plan *plan, const Source *sources, json_object *record) {
        printf("%-34s %-12s %8s  %-7s %10s  %s\n", "STAGE", "DIGEST", "PACKAGES", "STATE",
                        "DOWNLOAD", "WHY");
        for (size_t i = 0; i < plan->n_stages; i++) {
                const Stage *s = plan->stages + i;
                const Source *from = sources + i;
                bool runs = !from->cached && !from->remote;
                _cleanup_free_ char *why = runs ? plan_why(plan, i, record) : NULL;
                char packages[24] = "", download[FORMAT_BYTES_MAX] = "";

                if (s->locked)
                        snprintf(packages, sizeof(packages), "%zu", s->locked->n_packages);
                if (from->download > 0)
                        format_bytes(download, from->download);
                printf("%-34s %.12s %8s  %-7s %10s%s%s\n", s->id, s->digest, packages,
                                from->cached   ? "cached"
                                : from->remote ? "remote"
                                               : "run",
                                download, why ? "  " : "", strempty(why));
        }
        show_sum(plan, sources);
}

static int run(VerbCall *call) {
        const PlanOptions *o = call->options;
        _cleanup_loaded_ Loaded loaded = {};
        _cleanup_json_ json_object *record = NULL;
        _cleanup_free_ Source *sources = NULL;
        int r;

        call->ctx->keep_lock = !o->lock;
        r = lock_and_plan(call->ctx, call->arguments[0], NULL, &loaded);
        if (r < 0)
                return r;

        r = plan_record_read(call->ctx->store, loaded.plan, &record);
        if (r < 0)
                return log_oom();

        r = find_sources(call->ctx, loaded.plan, &sources);
        if (r < 0)
                return r == -ENOMEM ? log_oom() : r;

        if (!o->json)
                show_table(loaded.plan, sources, record);
        else if (show_json(loaded.plan, sources, record) < 0)
                return log_oom();
        return EXIT_OK;
}

static const OptionSpec options[] = {
        { "json", OPT_JSON, NULL, "one JSON object" },
        { "lock", OPT_LOCK, NULL, "write the lock file where it lacks something" },
        {},
};

static int take(void *values, int id, const char *value _unused_) {
        PlanOptions *o = values;

        if (id == OPT_LOCK)
                o->lock = true;
        else
                o->json = true;
        return 0;
}

const Verb verb_plan = {
        .spec = { "plan", "show the stages, what is cached and what would run", options, "RECIPE",
                        COMPLETE_FILE, "*.json" },
        .usage = "RECIPE [OPTION…]",
        .about = "Shows the stages of a recipe, their digests, which are cached, why the others run, and what a build\n"
                 "would download; with --remote-store, which come from there. Why is told against what the stages were last made of here.\n"
                 "Writes nothing: what the lock file lacks is found and only used, unless --lock is given.",
        .needs_store = true,
        .min_arguments = 1,
        .max_arguments = 1,
        .wanted = "takes one recipe",
        .options_size = sizeof(PlanOptions),
        .take = take,
        .run = run,
};
