/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild check: builds what is missing of a recipe's tree and proves it, without making a
 * disk. */

#include "plan/plan.h"
#include "check/check.h"
#include "shared/log.h"
#include "stage/stage.h"
#include "cmd/verb.h"

#include <getopt.h>

static void help(void) {
        printf("imgbuild check RECIPE [OPTION…]\n\n"
               "Builds what is missing of the recipe's tree and runs every check on it. Makes no disk.\n"
               "Exit code 1 where a check found something. docs/checks.md explains each rule.\n\n"
               "      --json              one JSON object: findings and versions\n"
               "      --rules             only list the rules\n%s",
                        common_options_help);
}

static int show_json(const Findings *f) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *list = json_object_new_array();

        if (!o || json_set(o, "findings", list) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < f->n; i++) {
                json_object *x = json_object_new_object();

                if (!x || json_object_array_add(list, x) < 0)
                        return -ENOMEM;
                if (json_set_string(x, "rule", f->findings[i].rule) < 0 ||
                                json_set_string(x, "found", f->findings[i].found) < 0 ||
                                json_set_string(x, "remedy", f->findings[i].remedy) < 0)
                        return -ENOMEM;
        }
        if (f->versions && json_set(o, "versions", json_object_get(f->versions)) < 0)
                return -ENOMEM;
        printf("%s\n", json_object_to_json_string_ext(
                                       o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                                          JSON_C_TO_STRING_NOSLASHESCAPE));
        return 0;
}

static void show(const Recipe *recipe, const Findings *f) {
        for (size_t i = 0; i < f->n; i++)
                printf("%s: %s\n        what to do: %s\n", f->findings[i].rule,
                                f->findings[i].found, f->findings[i].remedy);
        if (f->versions) {
                json_object_object_foreach (f->versions, key, value) {
                        printf("%-18s %s\n", key, json_object_get_string(value));
                }
        }
        if (f->n == 0)
                printf("%s: every check passed\n", recipe->name);
        else
                printf("%s: %zu findings\n", recipe->name, f->n);
}

static int run(Context *ctx, const char *path, bool json) {
        _cleanup_(findings_done) Findings findings = {};
        _cleanup_loaded_ Loaded loaded = {};
        _cleanup_strv_free_ char **layers = NULL;
        size_t last;
        int r;

        r = lock_and_plan(ctx, path, NULL, &loaded);
        if (r < 0)
                return exit_code_from_errno(r);
        last = loaded.plan->n_stages - 1;
        r = stages_build(ctx, loaded.plan, last);
        if (r >= 0)
                r = stages_layers(ctx, loaded.plan, last, &layers);
        if (r < 0)
                return exit_code_from_errno(r);
        progress_add(ctx->progress, "check");
        progress_set(ctx->progress, "check", PROGRESS_RUNNING);
        r = check_tree(ctx, loaded.plan, layers, &findings);
        progress_set(ctx->progress, "check",
                        r < 0 || findings.n > 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        ctx->progress = progress_free(ctx->progress);
        if (r < 0) {
                log_error_errno(r, "The finished tree could not be checked");
                return exit_code_from_errno(r);
        }
        if (!json)
                show(loaded.recipe, &findings);
        else if (show_json(&findings) < 0)
                return exit_code_from_errno(log_oom());
        return findings.n > 0 ? EXIT_FAILED : EXIT_OK;
}

int cmd_check(int argc, char *argv[]) {
        static const struct option options[] = {
                { "json", no_argument, NULL, OPT_VERB },
                { "rules", no_argument, NULL, OPT_VERB + 1 },
                COMMON_LONG_OPTIONS,
                {},
        };
        _cleanup_common_options_ CommonOptions common = {};
        _cleanup_context_ Context ctx = {};
        bool json = false;
        int c, r;

        while ((c = getopt_long(argc, argv, "j:vh", options, NULL)) >= 0)
                switch (c) {
                case OPT_VERB:
                        json = true;
                        break;
                case OPT_VERB + 1:
                        for (size_t i = 0; check_rule_name(i); i++)
                                puts(check_rule_name(i));
                        return EXIT_OK;
                case 'h':
                        help();
                        return EXIT_OK;
                default:
                        if (c == '?' || common_option(&common, c, optarg) <= 0)
                                return EXIT_USAGE;
                }
        if (argc - optind != 1) {
                log_error("'imgbuild check' takes one recipe; see 'imgbuild check --help'");
                return EXIT_USAGE;
        }
        r = context_open(&common, &ctx);
        return r < 0 ? exit_code_from_errno(r) : run(&ctx, argv[optind], json);
}
