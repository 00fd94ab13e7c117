/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locked packages as files for a package manager: under the names that it knows them by, in one
 * folder. */

#include "stage/internal.h"
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

/* dnf's own name, without the epoch. */
static char *rpm_name(const LockedPackage *p) {
        const char *colon = strchr(p->version, ':');

        return strf("%s-%s.%s.rpm", p->name, colon ? colon + 1 : p->version, p->arch);
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
                r = strv_push(&names,
                                b->plan->recipe->family == FAMILY_EL ? rpm_name(p) : deb_name(p));
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
                        return log_error_errno(-errno,
                                        "%s cannot be taken from the store; 'imgbuild cache verify' looks whether it is whole",
                                        names[i]);
        }
        *ret_folder = TAKE_PTR(folder);
        return 0;
}
