/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild shell: look around in the tree as a stage left it, or try what the next one would do.
 * Whatever changes is thrown away. */

#include "plan/plan.h"
#include "stage/stage.h"
#include "cmd/verb.h"

#include "shared/log.h"
#include "shared/strv.h"

#include <getopt.h>

static void help(void) {
        printf("imgbuild shell RECIPE [OPTION…] [-- COMMAND…]\n\n"
               "Opens a shell, or runs a command, in the recipe's tree. Changes are thrown away. Stages that the store\n"
               "lacks are built first.\n\n"
               "      --stage=ID          the tree as it is after this stage (default: the last; see imgbuild plan)\n"
               "      --network           with the host's network\n%s",
                        common_options_help);
}

static int find_stage(const Plan *plan, const char *id, size_t *ret) {
        const Stage *stage = id ? plan_find(plan, id) : plan->stages + plan->n_stages - 1;

        if (!stage) {
                _cleanup_strv_free_ char **ids = NULL;
                _cleanup_free_ char *list = NULL;

                for (size_t i = 0; i < plan->n_stages; i++)
                        if (strv_extend(&ids, plan->stages[i].id) < 0)
                                return log_oom();
                list = strv_join(ids, " ");
                return log_error_errno(-EINVAL, "There is no stage '%s'; there are: %s", id,
                                strempty(list));
        }
        *ret = (size_t) (stage - plan->stages);
        return 0;
}

static int open_shell(Context *ctx, const Plan *plan, size_t last, bool network,
                char *const *command, int *ret_status) {
        static char *const shells[] = { (char *) "/bin/bash", (char *) "/bin/sh" };
        _cleanup_strv_free_ char **layers = NULL, **env = NULL;
        char *shell[] = { shells[1], NULL };
        int r;

        r = stages_layers(ctx, plan, last, &layers);
        if (r < 0)
                return log_oom();
        STRV_FOREACH (layer, layers) {
                _cleanup_free_ char *bash = strf("%s/usr/bin/bash", *layer);
                if (bash && access(bash, X_OK) >= 0)
                        shell[0] = shells[0];
        }
        /* The prompt says where one is: Debian's bashrc shows debian_chroot, a plain sh PS1. */
        if ((plan->kernel && strv_extendf(&env, "KERNEL=%s", plan->kernel) < 0) ||
                        strv_extendf(&env, "debian_chroot=%s", plan->stages[last].id) < 0 ||
                        strv_extendf(&env, "PS1=(%s) # ", plan->stages[last].id) < 0)
                return log_oom();
        const Sandbox s = {
                .store = ctx->store,
                .layers = layers,
                .network = network,
                .env = env,
                .epoch = plan->lock->epoch,
        };
        const SpawnOptions options = { .stdin_inherit = true };

        r = sandbox_run(&s, &options, command && *command ? command : shell, ret_status);
        return r < 0 ? log_error_errno(r, "Cannot run %s in the tree",
                                       command && *command ? *command : *shell)
                     : 0;
}

int cmd_shell(int argc, char *argv[]) {
        static const struct option options[] = {
                { "stage", required_argument, NULL, OPT_VERB },
                { "network", no_argument, NULL, OPT_VERB + 1 },
                COMMON_LONG_OPTIONS,
                {},
        };
        _cleanup_common_options_ CommonOptions common = {};
        _cleanup_context_ Context ctx = {};
        _cleanup_loaded_ Loaded loaded = {};
        const char *stage = NULL;
        bool network = false;
        size_t last = 0;
        int c, r, status;

        while ((c = getopt_long(argc, argv, "j:vh", options, NULL)) >= 0)
                switch (c) {
                case OPT_VERB:
                        stage = optarg;
                        break;
                case OPT_VERB + 1:
                        network = true;
                        break;
                case 'h':
                        help();
                        return EXIT_OK;
                default:
                        if (c == '?' || common_option(&common, c, optarg) <= 0)
                                return EXIT_USAGE;
                }
        if (argc - optind < 1) {
                log_error("'imgbuild shell' takes a recipe; see 'imgbuild shell --help'");
                return EXIT_USAGE;
        }
        /* getopt moves "--" behind the options and the recipe in front of it: what is left is the
         * command. */
        char **command = argv + optind + 1;
        r = context_open(&common, &ctx);
        if (r < 0)
                return exit_code_from_errno(r);
        r = lock_and_plan(&ctx, argv[optind], NULL, &loaded);
        if (r >= 0)
                r = find_stage(loaded.plan, stage, &last);
        if (r >= 0)
                r = stages_build(&ctx, loaded.plan, last);
        ctx.progress = progress_free(ctx.progress); /* the terminal is the shell's from here on */
        if (r >= 0)
                r = open_shell(&ctx, loaded.plan, last, network, command, &status);
        if (r < 0)
                return interrupt_signal() ? EXIT_INTERRUPTED : exit_code_from_errno(r);
        return status;
}
