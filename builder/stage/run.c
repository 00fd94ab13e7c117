/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An overlay's script, run in the tree. */

#include "stage/internal.h"

#include "shared/log.h"
#include "shared/strv.h"

static int script_environment(const StageBuild *b, const Run *run, char ***ret) {
        if (strv_extend(ret, "DEBIAN_FRONTEND=noninteractive") < 0)
                return -ENOMEM;
        if (b->plan->kernel && strv_extendf(ret, "KERNEL=%s", b->plan->kernel) < 0)
                return -ENOMEM;
        return run->secrets ? strv_extend(ret, "SECRETS=" SANDBOX_SECRETS) : 0;
}

int stage_run(StageBuild *b) {
        const Run *run = b->stage->overlay->run + b->stage->index;
        const SandboxBind bind = { run->script, INSIDE_SCRIPT, false };
        _cleanup_free_ const Secret **secrets = NULL;
        _cleanup_strv_free_ char **env = NULL;
        Sandbox s = b->sandbox;
        int r;

        if (script_environment(b, run, &env) < 0)
                return log_oom();
        r = stage_secrets(b, &secrets);
        if (r < 0)
                return r;

        s.binds = &bind;
        s.n_binds = 1;
        s.env = env;
        s.network = run->network;
        s.script = run->script;
        s.secrets = secrets;
        r = stage_command(b, &s, ARGV(INSIDE_SCRIPT));
        return r < 0 || !secrets ? r : stage_find_secrets(b, secrets);
}
