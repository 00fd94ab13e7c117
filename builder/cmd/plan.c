/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild plan: what a build would do. */

#include "plan/plan.h"
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

static int stage_json(
                Context *ctx, const Plan *plan, size_t i, json_object *record, json_object *list) {
        const Stage *s = plan->stages + i;
        bool cached = store_has_layer(ctx->store, s->digest);
        _cleanup_free_ char *why = cached ? NULL : plan_why(plan, i, record);
        json_object *o;
        int r;

        r = json_append_object(list, &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("why", why), JSON_STRING("id", s->id),
                        JSON_STRING("kind", stage_kind_name(s->kind)),
                        JSON_STRING("digest", s->digest), JSON_BOOL("cached", cached),
                        JSON_INT("packages", s->locked ? s->locked->n_packages : 0),
                        JSON_INT("download", cached ? 0 : download_size(ctx, plan, s)));
}

static int show_json(Context *ctx, const Plan *plan, json_object *record) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *list = json_object_new_array(), *recipe = NULL;
        int r;

        if (!o || json_set(o, "stages", list) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < plan->n_stages; i++) {
                r = stage_json(ctx, plan, i, record, list);
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

static void show_table(Context *ctx, const Plan *plan, json_object *record) {
        char download_total[FORMAT_BYTES_MAX];
        uint64_t total = 0;
        size_t cached = 0;

        printf("%-34s %-12s %8s  %-7s %10s  %s\n", "STAGE", "DIGEST", "PACKAGES", "STATE",
                        "DOWNLOAD", "WHY");
        for (size_t i = 0; i < plan->n_stages; i++) {
                const Stage *s = plan->stages + i;
                bool have = store_has_layer(ctx->store, s->digest);
                uint64_t size = have ? 0 : download_size(ctx, plan, s);
                _cleanup_free_ char *why = have ? NULL : plan_why(plan, i, record);
                char packages[24] = "", download[FORMAT_BYTES_MAX] = "";

                if (s->locked)
                        snprintf(packages, sizeof(packages), "%zu", s->locked->n_packages);
                if (size > 0)
                        format_bytes(download, size);
                printf("%-34s %.12s %8s  %-7s %10s%s%s\n", s->id, s->digest, packages,
                                have ? "cached" : "run", download, why ? "  " : "", strempty(why));
                cached += have;
                total += size;
        }
        printf("\n%zu stages, %zu cached, %zu to run, %s to download.", plan->n_stages, cached,
                        plan->n_stages - cached, format_bytes(download_total, total));
        if (plan->kernel)
                printf(" Kernel %s.", plan->kernel);
        if (plan->maker_kind == MAKER_UNKNOWN)
                printf(" The tools are not locked yet: digests are other ones when they are.");
        printf("\n");
}

static int run(VerbCall *call) {
        const PlanOptions *o = call->options;
        _cleanup_loaded_ Loaded loaded = {};
        _cleanup_json_ json_object *record = NULL;
        int r;

        call->ctx->keep_lock = !o->lock;
        r = lock_and_plan(call->ctx, call->arguments[0], NULL, &loaded);
        if (r < 0)
                return r;

        r = plan_record_read(call->ctx->store, loaded.plan, &record);
        if (r < 0)
                return log_oom();

        if (!o->json)
                show_table(call->ctx, loaded.plan, record);
        else if (show_json(call->ctx, loaded.plan, record) < 0)
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
                 "would download. Why is told against what the stages were last made of here.\n"
                 "Writes nothing: what the lock file lacks is found and only used, unless --lock is given.",
        .needs_store = true,
        .min_arguments = 1,
        .max_arguments = 1,
        .wanted = "takes one recipe",
        .options_size = sizeof(PlanOptions),
        .take = take,
        .run = run,
};
