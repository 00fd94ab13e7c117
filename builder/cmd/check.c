/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild check: builds what is missing of a recipe's tree and proves it, without making a
 * disk. */

#include "check/check.h"
#include "plan/plan.h"
#include "shared/log.h"
#include "stage/stage.h"
#include "cmd/verb.h"

enum { OPT_JSON = OPT_VERB, OPT_RULES, OPT_NODE };

typedef struct CheckOptions {
        bool json, node;
} CheckOptions;

static int show_json(const Findings *f) {
        _cleanup_json_ json_object *o = NULL;
        int r;

        r = findings_to_json(f, &o);
        if (r < 0)
                return r;
        json_print(o, JSON_C_TO_STRING_SPACED);
        return 0;
}

static void show(const Recipe *recipe, const Findings *f) {
        for (size_t i = 0; i < f->n; i++)
                printf("%s: %s%s\n        what to do: %s\n", f->findings[i].rule,
                                f->findings[i].warning ? "warning: " : "", f->findings[i].found,
                                f->findings[i].remedy);
        if (f->versions) {
                json_object_object_foreach (f->versions, key, value) {
                        printf("%-18s %s\n", key, json_object_get_string(value));
                }
        }
        size_t errors = findings_errors(f);
        if (f->n == 0)
                printf("%s: every check passed\n", recipe->name);
        else if (errors == 0)
                printf("%s: every check passed, %zu warnings\n", recipe->name, f->n);
        else
                printf("%s: %zu findings\n", recipe->name, errors);
}

static int check_node(char *const *paths) {
        int r = node_files_check(paths);

        if (r < 0)
                return r;
        STRV_FOREACH (path, paths)
                printf("%s: no faults\n", *path);
        return EXIT_OK;
}

static int run(VerbCall *call) {
        const CheckOptions *o = call->options;
        _cleanup_(findings_done) Findings findings = {};
        _cleanup_loaded_ Loaded loaded = {};
        _cleanup_maker_ Maker maker = {};
        _cleanup_strv_free_ char **layers = NULL;
        Context *ctx = call->ctx;
        size_t last;
        int r;

        if (o->node)
                return check_node(call->arguments);
        r = lock_and_plan(ctx, call->arguments[0], NULL, &loaded);
        if (r < 0)
                return r;
        last = loaded.plan->n_stages - 1;
        r = tools_maker(ctx, loaded.plan, &maker);
        if (r < 0)
                return r;
        r = stages_build(ctx, loaded.plan, &maker, last);
        if (r < 0)
                return r;
        r = stages_layers(ctx, loaded.plan, last, &layers);
        if (r < 0)
                return r;

        progress_add(ctx->progress, "check");
        progress_set(ctx->progress, "check", PROGRESS_RUNNING);
        r = check_tree(ctx, loaded.plan, layers, &findings);
        progress_set(ctx->progress, "check",
                        r < 0 || findings_errors(&findings) > 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        ctx->progress = progress_free(ctx->progress);
        if (r < 0)
                return log_error_errno(r, "The finished tree could not be checked");

        if (!o->json)
                show(loaded.recipe, &findings);
        else if (show_json(&findings) < 0)
                return log_oom();
        return findings_errors(&findings) > 0 ? EXIT_FAILED : EXIT_OK;
}

static const OptionSpec options[] = {
        { "json", OPT_JSON, NULL, "one JSON object: findings and versions" },
        { "node", OPT_NODE, NULL,
                        "the arguments are node configurations, layers of one, weakest first:\nprove them, build nothing" },
        { "rules", OPT_RULES, NULL, "only list the rules" },
        {},
};

static int take(void *values, int id, const char *value _unused_) {
        CheckOptions *o = values;

        if (id == OPT_JSON) {
                o->json = true;
                return 0;
        }
        if (id == OPT_NODE) {
                o->node = true;
                return 0;
        }

        for (size_t i = 0; check_rule_name(i); i++)
                puts(check_rule_name(i));
        return 1;
}

static int check(VerbCall *call) {
        const CheckOptions *o = call->options;

        return call->n_arguments == 1 || (o->node && call->n_arguments > 1) ? 0 : -EINVAL;
}

const Verb verb_check = {
        .spec = { "check", "prove a finished tree: drivers, identity, secrets, services", options,
                        "RECIPE", COMPLETE_FILE, "*.json" },
        .usage = "RECIPE | --node FILE… [OPTION…]",
        .about = "Builds what is missing of the recipe's tree and runs every check on it. Makes no disk.\n"
                 "Exit code 1 where a check found something. docs/checks.md explains each rule.",
        .needs_root = true,
        .reads_only = "--node",
        .needs_store = true,
        .wanted = "takes one recipe, or with --node files of node configuration",
        .options_size = sizeof(CheckOptions),
        .take = take,
        .check = check,
        .run = run,
};
