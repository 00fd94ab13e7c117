/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Installing packages, for every kind of stage that has some: the tree's own apt installs locked
 * .debs, all named on its command line, in one call. It has no lists and no network, so nothing
 * else can come in. */

#include "stage/internal.h"
#include "stage/shims.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

/* apt's own name for a .deb in its cache: the version's colon is escaped. */
static char *deb_name(const LockedPackage *p) {
        _cleanup_free_ char *version = calloc(3, strlen(p->version) + 1);
        char *v = version;

        if (!version)
                return NULL;
        for (const char *c = p->version; *c; c++)
                if (*c == ':')
                        v = stpcpy(v, "%3a");
                else
                        *v++ = *c;
        return strf("%s_%s_%s.deb", p->name, version, p->arch);
}

int stage_locked_debs(
                StageBuild *b, const LockedStage *locked, char ***ret_blobs, char ***ret_names) {
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;
        int r;

        r = locked_packages_check(b->ctx, b->plan->recipe, locked);
        if (r < 0)
                return r;
        for (size_t i = 0; i < locked->n_packages; i++) {
                const LockedPackage *p = locked->packages + i;

                r = strv_push(&blobs, store_blob_path(b->ctx->store, p->sha256));
                if (r < 0)
                        return r;
                r = strv_push(&names, deb_name(p));
                if (r < 0)
                        return r;
        }
        *ret_blobs = TAKE_PTR(blobs);
        *ret_names = TAKE_PTR(names);
        return 0;
}

int stage_link_debs(StageBuild *b, char *const *blobs, char *const *names, char **ret_folder) {
        _cleanup_free_ char *folder = NULL;
        int r;

        r = store_scratch(b->ctx->store, "debs", &folder);
        if (r < 0)
                return r;
        for (size_t i = 0; i < strv_length(blobs); i++) {
                _cleanup_free_ char *path = path_join(folder, names[i]);

                if (!path)
                        return -ENOMEM;
                if (link(blobs[i], path) < 0)
                        return log_error_errno(-errno, "%s is not in the store", names[i]);
        }
        *ret_folder = TAKE_PTR(folder);
        return 0;
}

/* Folders of scratch that one installation needs. */
typedef struct Workspace {
        char *debs, *shims, *later, *policy;
} Workspace;

static void workspace_done(Workspace *w) {
        char *const folders[] = { w->debs, w->shims, w->later };

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                if (folders[i])
                        (void) rm_rf(folders[i]);
                free(folders[i]);
        }
        free(w->policy);
}

static int workspace_make(StageBuild *b, char *const *blobs, char *const *names, Workspace *w) {
        int r;

        r = stage_link_debs(b, blobs, names, &w->debs);
        if (r < 0)
                return r;
        r = shims_write(b->ctx->store, &w->shims);
        if (r < 0)
                return r;
        r = store_scratch(b->ctx->store, "later", &w->later);
        if (r < 0)
                return r;
        w->policy = path_join(w->shims, "policy-rc.d");
        return w->policy ? 0 : -ENOMEM;
}

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
        _cleanup_strv_free_ char **argv = NULL;
        const SandboxBind binds[] = {
                { w->debs, INSIDE_DEBS, false },
                { w->shims, SHIMS_INSIDE, false },
                { w->later, SHIMS_LATER_INSIDE, true },
                { w->policy, "/usr/sbin/policy-rc.d", false },
        };
        Sandbox s = *sandbox;

        if (apt_argv(b->plan, names, &argv) < 0)
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
        _cleanup_(workspace_done) Workspace w = {};
        int r;

        if (strv_length(blobs) == 0)
                return 0;
        r = workspace_make(b, blobs, names, &w);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot lay out its packages", b->stage->id);

        r = run_apt(b, sandbox, &w, names);
        return r < 0 ? r : run_later(b, sandbox, w.later);
}
