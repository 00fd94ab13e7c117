/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Artifacts into the lock: url and sha256, from the overlay where it pins one, else of what the
 * URL serves when it is locked first. They are downloaded at once, so that a lock never names what
 * was not there. */

#include "store/fetch.h"
#include "store/store.h"
#include "lock/internal.h"

typedef struct Wanted {
        const Overlay *overlay;
        const Artifact *artifact;
        char *what, *update;
} Wanted;

static bool moves(const ResolveOptions *o, const Artifact *a) {
        return o->update && (!o->names || strv_contains(o->names, a->name));
}

static bool is_locked(const LockedArtifact *locked, const Artifact *a) {
        return locked && streq(locked->url, a->url) && streq_ptr(locked->version, a->version) &&
               (!a->sha256 || streq(a->sha256, locked->sha256));
}

static int add(Lock *l, const Wanted *w, const char *sha256, uint64_t size) {
        return lock_add_artifact(l, &(LockedArtifact) {
                                                    .overlay = w->overlay->name,
                                                    .name = w->artifact->name,
                                                    .version = w->artifact->version,
                                                    .url = w->artifact->url,
                                                    .sha256 = (char *) sha256,
                                                    .size = size,
                                    });
}

/* What the store has already, offline or not, costs nothing. */
static int size_in_store(Context *ctx, const char *sha256, uint64_t *ret) {
        _cleanup_free_ char *path = store_blob_path(ctx->store, sha256);
        Digest digest;

        return path ? digest_file(path, digest, ret) : -ENOMEM;
}

static int fetch_wanted(Context *ctx, const Recipe *recipe, Wanted *wanted, size_t n, Lock *l) {
        _cleanup_free_ FetchItem *items = calloc(n + 1, sizeof(*items));
        int r;

        if (!items)
                return log_oom();
        for (size_t i = 0; i < n; i++) {
                Wanted *w = wanted + i;
                const Artifact *a = w->artifact;

                w->what = strf("artifact %s %s (overlay %s)", a->name, strempty(a->version),
                                w->overlay->name);
                w->update = a->sha256 ? strf("change url or sha256 in %s/overlay.json",
                                                        w->overlay->path)
                                      : strf("imgbuild lock %s --update %s", recipe->path, a->name);
                if (!w->what || !w->update)
                        return log_oom();
                items[i] = (FetchItem) { .url = a->url,
                        .sha256 = a->sha256,
                        .what = w->what,
                        .update = a->sha256 ? w->update : NULL };
        }
        r = fetch_all(ctx, "resolve", items, n);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                const char *sha256 = items[i].sha256 ? items[i].sha256 : items[i].result;

                if (!items[i].sha256 && startswith(items[i].url, "http://"))
                        log_warning("%s came over plain http and its overlay pins no sha256: anybody on the way could have changed it. Add \"sha256\": \"%s\" once you have compared it with what the vendor publishes",
                                        items[i].what, sha256);
                if (items[i].size == 0)
                        r = size_in_store(ctx, sha256, &items[i].size);
                if (r >= 0)
                        r = add(l, wanted + i, sha256, items[i].size);
                if (r < 0)
                        log_error_errno(r, "%s cannot be locked", items[i].what);
        }
        return r;
}

int resolve_artifacts(Context *ctx, const Recipe *recipe, const Lock *old,
                const ResolveOptions *options, Lock *l) {
        Wanted *wanted;
        size_t n = 0, total = 0;
        int r = 0;

        for (size_t i = 0; i < recipe->n_overlays; i++)
                total += recipe->overlays[i]->n_artifacts;
        wanted = calloc(total + 1, sizeof(*wanted));
        if (!wanted)
                return log_oom();
        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];

                for (size_t k = 0; r >= 0 && k < o->n_artifacts; k++) {
                        const Artifact *a = o->artifacts + k;
                        const LockedArtifact *locked = lock_find_artifact(old, o->name, a->name);

                        wanted[n].overlay = o;
                        wanted[n].artifact = a;
                        /* One with a digest of its own cannot move without its overlay. */
                        if (is_locked(locked, a) && (a->sha256 || !moves(options, a)))
                                r = l && add(l, wanted + n, locked->sha256, locked->size) < 0
                                                    ? log_oom()
                                                    : 0;
                        else
                                n++;
                }
        }
        if (r >= 0 && n > 0 && l)
                r = fetch_wanted(ctx, recipe, wanted, n, l);
        for (size_t i = 0; i < n; i++) {
                free(wanted[i].what);
                free(wanted[i].update);
        }
        free(wanted);
        return r < 0 ? r : (int) n;
}
