/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An overlay's artifacts: packages go through the tree's apt or rpm, all in one call; files are
 * copied; archives are unpacked in scratch first, so that whatever their entries are called, only
 * plain names below the target come out. */

#include "stage/internal.h"
#include "stage/unpack.h"
#include "store/store.h"
#include "sandbox/copy-tree.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

typedef struct Place {
        const Artifact *artifact;
        const char *blob;
        const char *folder; /* empty, for an archive's content */
} Place;

static int place_file(const char *root, void *userdata) {
        const Place *p = userdata;

        return copy_file(p->blob, root, p->artifact->path, p->artifact->mode);
}

static int place_archive(const char *root, void *userdata) {
        const Place *p = userdata;
        const CopyOptions options = { .what = p->artifact->name };
        _cleanup_free_ char *why = NULL;
        int r;

        r = unpack_archive(p->blob, p->folder, p->artifact->strip, &why);
        if (r == -EBADMSG) {
                log_error("Artifact %s cannot be unpacked: %s. What is at %s?", p->artifact->name,
                                strempty(why), p->artifact->url);
                return -EIO;
        }
        if (r < 0)
                return log_error_errno(r, "Artifact %s cannot be unpacked", p->artifact->name);
        return copy_tree(p->folder, root, p->artifact->path, &options);
}

/* In the child that sees the tree: an archive that confuses the reader ends no more than that. */
static int unpack(StageBuild *b, const Artifact *a, const char *blob) {
        _cleanup_free_ char *folder = NULL;
        int r;

        r = store_scratch(b->ctx->store, "unpack", &folder);
        if (r < 0)
                return log_error_errno(r, "Stage %s: no room to unpack %s", b->stage->id, a->name);
        progress_detail(b->ctx->progress, b->stage->id, a->name);
        r = sandbox_call(&b->sandbox, place_archive,
                        &(Place) { .artifact = a, .blob = blob, .folder = folder });
        (void) rm_rf(folder);
        return r;
}

/* Packages are only put on the lists; apt or rpm is to see them all at once. */
static int install_artifact(StageBuild *b, const Artifact *a, char ***blobs, char ***names) {
        const LockedArtifact *locked =
                        lock_find_artifact(b->plan->lock, b->stage->overlay->name, a->name);
        const char *ending = b->plan->recipe->family == FAMILY_EL ? "rpm" : "deb";
        _cleanup_free_ char *blob = NULL;

        if (!locked)
                return log_error_return(-ESTALE,
                                "Stage %s: the lock does not have %s: 'imgbuild lock %s' adds it",
                                b->stage->id, a->name, b->plan->recipe->path);
        blob = store_blob_path(b->ctx->store, locked->sha256);
        if (!blob)
                return log_oom();

        switch (a->kind) {
        case INSTALL_PACKAGE:
                if (strv_extend(blobs, blob) < 0 ||
                                strv_extendf(names, "%s_%s.%s", a->name, strempty(a->version),
                                                ending) < 0)
                        return log_oom();
                return 0;
        case INSTALL_FILE:
                return sandbox_call(
                                &b->sandbox, place_file, &(Place) { .artifact = a, .blob = blob });
        case INSTALL_UNPACK:
                return unpack(b, a, blob);
        case INSTALL_SOURCE:
                return 0; /* its compile stage's */
        }
        return -EINVAL;
}

int stage_artifacts(StageBuild *b) {
        const Overlay *o = b->stage->overlay;
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;

        for (size_t i = 0; i < o->n_artifacts; i++) {
                int r = install_artifact(b, o->artifacts + i, &blobs, &names);

                if (r < 0)
                        return r;
        }
        return stage_install(b, &b->sandbox, blobs, names);
}
