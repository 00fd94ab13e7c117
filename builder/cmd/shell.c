/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild shell: look around in the tree as a stage left it, or try what the next one would do.
 * Whatever changes is thrown away. */

#include "plan/plan.h"
#include "sandbox/open-inside.h"
#include "stage/stage.h"
#include "cmd/verb.h"

#include "shared/log.h"
#include "shared/strv.h"
#include "shared/suggest.h"

enum { OPT_STAGE = OPT_VERB, OPT_NETWORK };

typedef struct ShellOptions {
        const char *stage;
        bool network;
} ShellOptions;

static int find_stage(const Plan *plan, const char *id, size_t *ret) {
        const Stage *stage;

        if (!id) {
                *ret = plan->n_stages - 1;
                return 0;
        }

        stage = plan_find(plan, id);
        if (!stage) {
                _cleanup_strv_free_ char **ids = NULL;
                _cleanup_free_ char *list = NULL, *meant = NULL;

                for (size_t i = 0; i < plan->n_stages; i++)
                        if (strv_extend(&ids, plan->stages[i].id) < 0)
                                return log_oom();
                list = strv_join(ids, " ");
                meant = suggest_text(id, ids);
                log_error("There is no stage '%s'%s; there are: %s", id, strempty(meant),
                                strempty(list));
                return -ENOENT;
        }
        *ret = (size_t) (stage - plan->stages);
        return 0;
}

static int open_shell(Context *ctx, const Plan *plan, size_t last, bool network,
                char *const *command, int *ret_status) {
        _cleanup_strv_free_ char **layers = NULL, **env = NULL;
        const char *shell = "/bin/sh";
        int r;

        r = stages_layers(ctx, plan, last, &layers);
        if (r < 0)
                return log_oom();
        STRV_FOREACH (layer, layers)
                if (inside_exists(*layer, "usr/bin/bash"))
                        shell = "/bin/bash";
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
        const SpawnOptions spawn = { .stdin_inherit = true };

        char *const *argv = *command ? command : ARGV(shell);

        r = sandbox_run(&s, &spawn, argv, ret_status);
        if (r < 0)
                return log_error_errno(r, "Cannot run %s in the tree", *argv);
        return 0;
}

static const OptionSpec options[] = {
        { "stage", OPT_STAGE, "ID",
                        "the tree as it is after this stage (default: the last; see imgbuild plan)" },
        { "network", OPT_NETWORK, NULL, "with the host's network" },
        {},
};

static int take(void *values, int id, const char *value) {
        ShellOptions *o = values;

        if (id == OPT_STAGE)
                o->stage = value;
        else
                o->network = true;
        return 0;
}

static int run(VerbCall *call) {
        const ShellOptions *o = call->options;
        _cleanup_loaded_ Loaded loaded = {};
        _cleanup_maker_ Maker maker = {};
        Context *ctx = call->ctx;
        size_t last = 0;
        int r, status;

        r = lock_and_plan(ctx, call->arguments[0], NULL, &loaded);
        if (r < 0)
                return r;
        r = find_stage(loaded.plan, o->stage, &last);
        if (r < 0)
                return r == -ENOENT ? EXIT_USAGE : r;
        r = tools_maker(ctx, loaded.plan, &maker);
        if (r < 0)
                return r;
        r = stages_build(ctx, loaded.plan, &maker, last);
        ctx->progress = progress_free(ctx->progress); /* the terminal is the shell's from here on */
        if (r < 0)
                return r;

        /* The recipe is the first argument, the rest, with "--" or without, is the command. */
        r = open_shell(ctx, loaded.plan, last, o->network, call->arguments + 1, &status);
        return r < 0 ? r : status;
}

const Verb verb_shell = {
        .spec = { "shell", "open a shell in the tree as a stage left it", options, "RECIPE",
                        COMPLETE_FILE, "*.json" },
        .usage = "RECIPE [OPTION…] [-- COMMAND…]",
        .about = "Opens a shell, or runs a command, in the recipe's tree. Changes are thrown away. Stages that the store\n"
                 "lacks are built first.",
        .needs_root = true,
        .needs_store = true,
        .min_arguments = 1,
        .max_arguments = SIZE_MAX,
        .wanted = "takes a recipe",
        .options_size = sizeof(ShellOptions),
        .take = take,
        .run = run,
};
