/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a lock repeats is computed again and compared. Which packages and versions it names is its
 * own to say; where they come from and whose word counts for them is the recipe's and the
 * overlays'. */

#include "common/deb-control.h"
#include "lock/internal.h"
#include "lock/mirror.h"
#include "lock/rpm-header.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "store/store.h"

#include <stdarg.h>

typedef struct Verification {
        const Recipe *recipe;
        const Lock *lock;
} Verification;

static int differs(const Verification *v, const char *what, const char *name, const char *format,
                ...) _printf_(4, 5);

static int differs(const Verification *v, const char *what, const char *name, const char *format,
                ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;

        va_start(ap, format);
        text = vstrf(format, ap);
        va_end(ap);
        if (!text)
                return log_oom();
        log_error("%s: %s %s: %s. The lock was changed by hand or by a merge: restore it from git, or remove it and 'imgbuild lock %s' makes a new one",
                        v->recipe->lock_path, what, name, text, v->recipe->path);
        return -EINVAL;
}

/* The recipe's, or of the overlays, whichever brings it. */
static const Repository *find_repository(const Recipe *recipe, const char *name) {
        for (size_t i = 0; i < recipe->base.n_repositories; i++)
                if (streq(recipe->base.repositories[i].name, name))
                        return recipe->base.repositories + i;
        for (size_t i = 0; i < recipe->n_overlays; i++)
                for (size_t k = 0; k < recipe->overlays[i]->n_repositories; k++)
                        if (streq(recipe->overlays[i]->repositories[k].name, name))
                                return recipe->overlays[i]->repositories + k;
        return NULL;
}

static int verify_archive(const Verification *v, const LockedOrigin *o) {
        _cleanup_free_ char *suite = NULL;

        if (v->recipe->family == FAMILY_DEBIAN && mirror_suite(v->recipe, o->name, &suite) < 0)
                return log_oom();
        if (!suite)
                return differs(v, "origin", o->name,
                                "neither an archive of %s nor a repository of the recipe's overlays",
                                v->recipe->base.distro);
        if (o->uri || o->fingerprint || o->key)
                return differs(v, "origin", o->name,
                                "it is the distribution's, and a uri, fingerprint or key is locked for it");
        if (!streq(o->suite, suite))
                return differs(v, "origin", o->name,
                                "suite \"%s\" is locked, the recipe's is \"%s\"", o->suite, suite);
        return 0;
}

static int verify_key(const Verification *v, const LockedOrigin *o) {
        _cleanup_strv_free_ char **found = NULL;
        _cleanup_free_ char *joined = NULL;
        int r;

        r = locked_key_fingerprints(o, &found);
        if (r == -EBADMSG)
                return differs(v, "repository", o->name, "its key is no OpenPGP public key");
        if (r < 0)
                return log_error_errno(r, "The key of repository %s cannot be read", o->name);
        if (strv_length(found) == 1 && streq(found[0], o->fingerprint))
                return 0;

        joined = strv_join(found, ", ");
        return joined ? differs(v, "repository", o->name, "its key is %s, the overlay pins %s",
                                        joined, o->fingerprint)
                      : log_oom();
}

static int verify_field(const Verification *v, const LockedOrigin *o, const char *field,
                const char *locked, const char *wanted) {
        return streq_ptr(locked, wanted) ? 0
                                         : differs(v, "repository", o->name,
                                                           "%s %s is locked, the overlay says %s",
                                                           field, locked ? locked : "none",
                                                           wanted ? wanted : "none");
}

static int verify_repository(
                const Verification *v, const LockedOrigin *o, const Repository *wanted) {
        int r;

        r = verify_field(v, o, "uri", o->uri, wanted->uri);
        if (r < 0)
                return r;
        r = verify_field(v, o, "suite", o->suite, wanted->suite);
        if (r < 0)
                return r;
        r = verify_field(v, o, "fingerprint", o->fingerprint, wanted->fingerprint);
        return r < 0 ? r : verify_key(v, o);
}

static int verify_origin(const Verification *v, const char *name) {
        const LockedOrigin *o = lock_find_origin(v->lock, name);
        const Repository *repository = find_repository(v->recipe, name);

        if (!o)
                return differs(v, repository ? "repository" : "origin", name,
                                "it is missing among the lock's origins");
        return repository ? verify_repository(v, o, repository) : verify_archive(v, o);
}

static int verify_package(const Verification *v, const LockedPackage *p) {
        bool el = v->recipe->family == FAMILY_EL;

        if (streq(p->arch, el ? "noarch" : "all") ||
                        streq(p->arch, el ? "x86_64" : v->recipe->base.arch))
                return 0;
        return differs(v, "package", p->name, "it is locked for %s, the recipe is for %s", p->arch,
                        v->recipe->base.arch);
}

static int verify_stage(const Verification *v, const PackageRequest *q, const LockedStage *s) {
        const char *verified = NULL;
        int r;

        /* Whatever is installed from it, an image may keep the repository. */
        for (size_t i = 0; q->overlay && i < q->overlay->n_repositories; i++) {
                r = verify_origin(v, q->overlay->repositories[i].name);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < s->n_packages; i++) {
                const LockedPackage *p = s->packages + i;

                r = verify_package(v, p);
                if (r < 0)
                        return r;
                if (streq_ptr(verified, p->origin))
                        continue; /* mostly it is that of the package before */
                r = verify_origin(v, p->origin);
                if (r < 0)
                        return r;
                verified = p->origin;
        }
        return 0;
}

int lock_verify(const Recipe *recipe, const PackageRequest *requests, const Digest *digests,
                size_t n, const Lock *l) {
        const Verification v = { recipe, l };

        for (size_t i = 0; i < n; i++) {
                const LockedStage *s = lock_find_stage(l, requests[i].id);
                int r;

                if (!s || !streq(s->request, digests[i]))
                        continue; /* asked anew */
                r = verify_stage(&v, requests + i, s);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What a package's own file says of it. */
typedef struct Own {
        char *name, *version, *arch;
} Own;

static void own_done(Own *o) {
        free(o->name);
        free(o->version);
        free(o->arch);
}

static int read_deb(const char *path, Own *ret) {
        DebControl c;
        int r = deb_control_read(path, &c);

        if (r < 0)
                return r;
        *ret = (Own) { c.name, c.version, c.arch };
        return 0;
}

static int read_rpm(const char *path, Own *ret) {
        RpmHeader h;
        int r = rpm_header_read(path, &h);

        if (r < 0)
                return r;
        *ret = (Own) { h.name, h.version, h.arch };
        return 0;
}

static int check_package(Context *ctx, const Recipe *recipe, const LockedPackage *p) {
        _cleanup_free_ char *path = store_blob_path(ctx->store, p->sha256);
        bool el = recipe->family == FAMILY_EL;
        _cleanup_(own_done) Own own = {};
        int r;

        if (!path)
                return log_oom();
        r = el ? read_rpm(path, &own) : read_deb(path, &own);
        if (r == -EBADMSG) {
                log_error("%s: what is locked as %s %s is no %s package: restore the lock from git, or 'imgbuild lock %s --update %s'",
                                recipe->lock_path, p->name, p->version, el ? "RPM" : "Debian",
                                recipe->path, p->name);
                return r;
        }
        if (r < 0)
                return log_error_errno(r, "%s %s cannot be read: %s", p->name, p->version, path);
        if (streq(own.name, p->name) && streq(own.version, p->version) && streq(own.arch, p->arch))
                return 0;

        log_error("%s: what is locked as %s %s %s is %s %s %s: restore the lock from git, or remove it and 'imgbuild lock %s' makes a new one",
                        recipe->lock_path, p->name, p->version, p->arch, own.name, own.version,
                        own.arch, recipe->path);
        return -EINVAL;
}

int locked_packages_check(Context *ctx, const Recipe *recipe, const LockedStage *stage) {
        for (size_t i = 0; i < stage->n_packages; i++) {
                int r = check_package(ctx, recipe, stage->packages + i);

                if (r < 0)
                        return r;
        }
        return 0;
}
