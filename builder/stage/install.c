/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Installing packages, for every kind of stage that has some: the tree's own apt installs locked
 * .debs, all named on its command line, in one call. It has no lists and no network, so nothing
 * else can come in. */

#include "stage/internal.h"
#include "stage/shims.h"
#include "stage/workspace.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

static int apt_argv(const Plan *plan, char *const *names, char ***ret) {
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = strv_extend_strv(&argv, ARGV("apt-get", "install"));
        if (r < 0)
                return r;
        STRV_FOREACH (option, plan->dpkg_options) {
                r = strv_extend(&argv, "-o");
                if (r < 0)
                        return r;
                r = strv_extendf(&argv, "Dpkg::Options::=%s", *option);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (name, names) {
                r = strv_extendf(&argv, INSIDE_DEBS "/%s", *name);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(argv);
        return 0;
}

static int run_apt(StageBuild *b, const Sandbox *sandbox, const Workspace *w, char *const *names) {
        _cleanup_free_ char *policy = path_join(w->shims, "policy-rc.d");
        _cleanup_strv_free_ char **argv = NULL;
        const SandboxBind binds[] = {
                { w->packages, INSIDE_DEBS, false },
                { w->shims, SHIMS_INSIDE, false },
                { w->later, SHIMS_LATER_INSIDE, true },
                { policy, "/usr/sbin/policy-rc.d", false },
        };
        Sandbox s = *sandbox;

        if (!policy || apt_argv(b->plan, names, &argv) < 0)
                return log_oom();
        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        s.env = ARGV("DEBIAN_FRONTEND=noninteractive", "DEBCONF_NONINTERACTIVE_SEEN=true",
                        "DEBCONF_NOWARNINGS=yes", "UCF_FORCE_CONFFOLD=1",
                        "APT_CONFIG=" SHIMS_INSIDE "/apt.conf");
        s.path_prefix = SHIMS_INSIDE;
        return stage_command(b, &s, argv);
}

static int run_one_later(StageBuild *b, const Sandbox *sandbox, const Later *later) {
        int status;

        if (!later->optional)
                return stage_command(b, sandbox, later->argv);
        return logged_command_status(
                        b->ctx, b->stage->id, sandbox, NULL, later->argv, true, &status);
}

/* What the packages' scripts asked for and the shims put off. */
static int run_later(StageBuild *b, const Sandbox *sandbox, const char *folder) {
        _cleanup_(later_list_done) LaterList later = {};
        int r;

        r = shims_later(folder, b->ctx->jobs, &later);
        if (r == -EINVAL || r == -ELOOP || r == -EFBIG) {
                log_error("Stage %s: where its packages' scripts note what is left to do lies something else than a small file",
                                b->stage->id);
                return -EIO;
        }
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot read what its packages left to do",
                                b->stage->id);
        for (size_t i = 0; i < later.n; i++) {
                r = run_one_later(b, sandbox, later.commands + i);
                if (r < 0)
                        return r;
        }
        return 0;
}

int stage_install(StageBuild *b, const Sandbox *sandbox, char *const *blobs, char *const *names) {
        _cleanup_workspace_ Workspace w = {};
        int r;

        if (strv_length(blobs) == 0)
                return 0;
        if (b->plan->recipe->family == FAMILY_EL)
                return stage_install_el(b, sandbox, blobs, names);
        r = workspace_make(b, blobs, names, &w);
        if (r < 0)
                return r;
        r = run_apt(b, sandbox, &w, names);
        return r < 0 ? r : run_later(b, sandbox, w.later);
}
