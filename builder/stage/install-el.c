/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Family el: packages are installed by rpm, from the locked files and all named on its command
 * line, in one call; the tree's own rpm, but for the base, which that of the tools makes. There is
 * no network, and rpm asks for none. Whose the files are, the lock says by their digests. */

#include "stage/internal.h"
#include "stage/rpm-clock.h"
#include "stage/shims.h"
#include "stage/workspace.h"

#include "shared/log.h"
#include "shared/strv.h"

#define INSIDE_RPMS INSIDE "/rpms"

/* rpm sets its scripts' PATH itself: these, then what it sets by default. */
#define SCRIPT_PATH                          \
        "_install_script_path " SHIMS_INSIDE \
        ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Where the rpm of a tree looks for its database, whatever the rpm of the tools does. */
#define DATABASE "/var/lib/rpm"

/* The tree's /proc is a mount already, which root of a user namespace may not touch, and package
 * filesystem has it. Told so for everybody, for the database keeps what was not installed. */
#define LEFT_ALONE "_netsharedpath /proc"

/* Systemd's programs are told that nothing runs here; kernel-install, that nothing is to be
 * made. */
#define ENVIRONMENT "SYSTEMD_OFFLINE=1", "KERNEL_INSTALL_BYPASS=1"

/* The tree's rpm may be one that asks the clock, not SOURCE_DATE_EPOCH. */
#define PRELOAD "LD_PRELOAD=" SHIMS_INSIDE "/" RPM_CLOCK

/* `first`: a tree that has no rpm yet, at SANDBOX_TREE. `replaces`: some of these may be newer
 * versions of what somebody else's image has. */
static int rpm_argv(bool first, bool replaces, char *const *names, char ***ret) {
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = strv_extend_strv(
                        &argv, ARGV("rpm", replaces ? "--upgrade" : "--install", "--nosignature",
                                               "--noplugins", "--define", SCRIPT_PATH));
        if (r < 0)
                return r;
        r = first ? strv_extend_strv(&argv, ARGV("--root", SANDBOX_TREE, "--dbpath", DATABASE,
                                                            "--define", LEFT_ALONE))
                  : 0;
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                r = strv_extendf(&argv, INSIDE_RPMS "/%s", *name);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(argv);
        return 0;
}

static int run_rpm(StageBuild *b, const Sandbox *sandbox, bool first, char *const *blobs,
                char *const *names) {
        _cleanup_workspace_ Workspace w = {};
        _cleanup_strv_free_ char **argv = NULL;
        Sandbox s = *sandbox;
        int r;

        r = workspace_make(b, blobs, names, &w);
        if (r < 0)
                return r;
        if (rpm_argv(first, b->plan->recipe->base.image != NULL, names, &argv) < 0)
                return log_oom();

        const SandboxBind binds[] = {
                { w.packages, INSIDE_RPMS, false },
                { w.shims, SHIMS_INSIDE, false },
                { w.later, SHIMS_LATER_INSIDE, true },
        };
        s.binds = binds;
        s.n_binds = first ? 1 : ELEMENTSOF(binds);
        s.env = first ? ARGV(ENVIRONMENT) : ARGV(ENVIRONMENT, PRELOAD);
        return stage_command(b, &s, argv);
}

int stage_install_el(
                StageBuild *b, const Sandbox *sandbox, char *const *blobs, char *const *names) {
        return run_rpm(b, sandbox, false, blobs, names);
}

int stage_base_el(StageBuild *b) {
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;
        const Recipe *recipe = b->plan->recipe;
        Sandbox s = b->sandbox;
        int r;

        r = stage_locked_debs(b, b->stage->locked, &blobs, &names);
        if (r < 0)
                return r == -ENOMEM ? log_oom() : r;
        b->made_with = json_object_get(b->maker->made_with);
        s.host = true;
        s.programs = b->maker->tree;
        r = run_rpm(b, &s, true, blobs, names);
        if (r < 0)
                return r;
        return stage_write_sources(b, recipe->base.repositories, recipe->base.n_repositories);
}
