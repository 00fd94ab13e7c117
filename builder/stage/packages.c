/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packages: the tree's own apt installs the stage's locked .debs, all named on its command line,
 * in one call. It has no lists and no network, so nothing else can come in. */

#include "stage/internal.h"
#include "store/store.h"
#include "stage/shims.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <sys/stat.h>

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

        for (size_t i = 0; i < locked->n_packages; i++) {
                const LockedPackage *p = locked->packages + i;
                int r = strv_push(&blobs, store_blob_path(b->ctx->store, p->sha256));

                if (r >= 0)
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

/* What the packages' scripts asked for and the shims put off. */
static int run_later(StageBuild *b, const Sandbox *sandbox, const char *folder) {
        Later *later;
        size_t n;
        int r;

        r = shims_later(folder, b->ctx->jobs, &later, &n);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot read what its packages left to do",
                                b->stage->id);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                int status;

                r = stage_command(b->ctx, b->stage->id, sandbox, NULL, later[i].argv,
                                later[i].optional ? &status : NULL);
        }
        later_free(later, n);
        return r;
}

static int install(StageBuild *b, const Sandbox *sandbox, const char *debs, const char *shims,
                const char *later, char *const *names) {
        static const char *const environment[] = {
                "DEBIAN_FRONTEND=noninteractive",
                "DEBCONF_NONINTERACTIVE_SEEN=true",
                "DEBCONF_NOWARNINGS=yes",
                "UCF_FORCE_CONFFOLD=1",
                "APT_CONFIG=" SHIMS_INSIDE "/apt.conf",
                NULL,
        };
        _cleanup_free_ char *policy = path_join(shims, "policy-rc.d");
        _cleanup_strv_free_ char **argv = NULL;
        Sandbox s = *sandbox;
        int r = policy ? strv_extend_many(&argv, "apt-get", "install", NULL) : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < strv_length(b->plan->dpkg_options); i++) {
                r = strv_extend(&argv, "-o");
                if (r >= 0)
                        r = strv_extendf(&argv, "Dpkg::Options::=%s", b->plan->dpkg_options[i]);
        }
        for (size_t i = 0; r >= 0 && i < strv_length(names); i++)
                r = strv_extendf(&argv, INSIDE_DEBS "/%s", names[i]);
        if (r < 0)
                return log_oom();

        const SandboxBind binds[] = {
                { debs, INSIDE_DEBS, false },
                { shims, SHIMS_INSIDE, false },
                { later, SHIMS_LATER_INSIDE, true },
                { policy, "/usr/sbin/policy-rc.d", false },
        };
        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        s.env = (char *const *) environment;
        s.path_prefix = SHIMS_INSIDE;
        return stage_command(b->ctx, b->stage->id, &s, NULL, argv, NULL);
}

int stage_install(StageBuild *b, const Sandbox *sandbox, char *const *blobs, char *const *names) {
        _cleanup_free_ char *debs = NULL, *shims = NULL, *later = NULL;
        int r;

        if (strv_length(blobs) == 0)
                return 0;
        r = stage_link_debs(b, blobs, names, &debs);
        if (r >= 0)
                r = shims_write(b->ctx->store, &shims);
        if (r >= 0)
                r = store_scratch(b->ctx->store, "later", &later);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot lay out its packages", b->stage->id);
        r = install(b, sandbox, debs, shims, later, names);
        if (r >= 0)
                r = run_later(b, sandbox, later);
        (void) rm_rf(debs);
        (void) rm_rf(shims);
        (void) rm_rf(later);
        return r;
}

/* A kernel that moved on its own would be one without the image's modules. */
static int hold_kernel(StageBuild *b) {
        _cleanup_free_ char *folder = NULL, *path = NULL;
        char *const argv[] = { (char *) "dpkg", (char *) "--set-selections", NULL };
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *text = NULL;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < b->stage->locked->n_packages; i++)
                if (startswith(b->stage->locked->packages[i].name, "linux-image-"))
                        r = strv_extendf(&lines, "%s hold\n", b->stage->locked->packages[i].name);
        if (r >= 0 && strv_length(lines) == 0)
                return 0;
        text = strv_join(lines, "");
        if (r >= 0)
                r = store_scratch(b->ctx->store, "hold", &folder);
        path = folder ? path_join(folder, "selections") : NULL;
        if (r < 0 || !text || !path)
                return log_oom();
        r = write_file_atomic(path, text, strlen(text), 0644);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot write %s", b->stage->id, path);
        return stage_command(b->ctx, b->stage->id, &b->sandbox,
                        &(SpawnOptions) { .stdin_path = path }, argv, NULL);
}

int stage_packages(StageBuild *b) {
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;
        int r;

        r = stage_locked_debs(b, b->stage->locked, &blobs, &names);
        if (r < 0)
                return log_oom();
        r = stage_install(b, &b->sandbox, blobs, names);
        if (r >= 0 && streq(b->stage->id, "kernel"))
                r = hold_kernel(b);
        if (r >= 0 && b->stage->overlay)
                r = stage_write_sources(b);
        return r;
}
