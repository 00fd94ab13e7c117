/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An overlay's artifacts: packages go through the tree's apt, all in one call; files are copied;
 * archives are unpacked in scratch first, so that whatever their entries are called, only plain
 * names below the target come out. */

#include "stage/internal.h"
#include "store/store.h"
#include "sandbox/copy-tree.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

typedef struct Place {
        const Artifact *artifact;
        const char *source; /* the blob, or the folder it was unpacked to */
} Place;

static int place(const char *root, void *userdata) {
        const Place *p = userdata;
        const CopyOptions options = { .what = p->artifact->name };

        if (p->artifact->kind == INSTALL_FILE)
                return copy_file(p->source, root, p->artifact->path, p->artifact->mode);
        return copy_tree(p->source, root, p->artifact->path, &options);
}

/* The host's tar does it, in a sandbox of its own that has nothing but the archive and an empty
 * folder. */
static int unpack(StageBuild *b, const Artifact *a, const char *blob) {
        _cleanup_free_ char *folder = NULL, *strip = strf("--strip-components=%u", a->strip);
        char *const argv[] = { (char *) "tar", (char *) "--extract", (char *) "--no-same-owner",
                (char *) "--preserve-permissions", strip, (char *) "--directory=" INSIDE "/out",
                (char *) "--file=" INSIDE "/archive", NULL };
        Sandbox s = b->sandbox;
        int r;

        r = store_scratch(b->ctx->store, "unpack", &folder);
        if (r < 0 || !strip)
                return log_error_errno(r < 0 ? r : -ENOMEM, "Stage %s: no room to unpack %s",
                                b->stage->id, a->name);
        const SandboxBind binds[] = { { blob, INSIDE "/archive", false },
                { folder, INSIDE "/out", true } };
        s.upper = s.work = NULL;
        s.layers = NULL;
        s.host = true;
        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        r = stage_command(b->ctx, b->stage->id, &s, NULL, argv, NULL);
        if (r >= 0)
                r = sandbox_call(&b->sandbox, place, &(Place) { a, folder });
        (void) rm_rf(folder);
        return r;
}

int stage_artifacts(StageBuild *b) {
        const Overlay *o = b->stage->overlay;
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < o->n_artifacts; i++) {
                const Artifact *a = o->artifacts + i;
                const LockedArtifact *locked = lock_find_artifact(b->plan->lock, o->name, a->name);
                _cleanup_free_ char *blob =
                                locked ? store_blob_path(b->ctx->store, locked->sha256) : NULL;

                if (!blob)
                        return log_error_errno(-ESTALE, "Stage %s: the lock does not have %s",
                                        b->stage->id, a->name);
                switch (a->kind) {
                case INSTALL_PACKAGE:
                        r = strv_extend(&blobs, blob);
                        if (r >= 0)
                                r = strv_extendf(
                                                &names, "%s_%s.deb", a->name, strempty(a->version));
                        if (r < 0)
                                return log_oom();
                        break;
                case INSTALL_FILE:
                        r = sandbox_call(&b->sandbox, place, &(Place) { a, blob });
                        break;
                case INSTALL_UNPACK:
                        r = unpack(b, a, blob);
                        break;
                }
        }
        return r < 0 ? r : stage_install(b, &b->sandbox, blobs, names);
}
