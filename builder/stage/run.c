/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An overlay's script, run in the tree. */

#include "stage/internal.h"

#include "shared/log.h"
#include "shared/strv.h"

int stage_run(StageBuild *b) {
        const Run *run = b->stage->overlay->run + b->stage->index;
        const SandboxBind bind = { run->script, INSIDE_SCRIPT, false };
        _cleanup_strv_free_ char **env = NULL;
        Sandbox s = b->sandbox;

        if (strv_extend(&env, "DEBIAN_FRONTEND=noninteractive") < 0)
                return log_oom();
        if (b->plan->kernel && strv_extendf(&env, "KERNEL=%s", b->plan->kernel) < 0)
                return log_oom();

        s.binds = &bind;
        s.n_binds = 1;
        s.env = env;
        s.network = run->network;
        s.script = run->script;
        return stage_command(b, &s, ARGV(INSIDE_SCRIPT));
}
