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
        const LockedArtifact *before; /* NULL: it was not locked */
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

static int lock_fetched(Context *ctx, const Wanted *w, FetchItem *item, Lock *l) {
        const char *sha256 = item->sha256 ? item->sha256 : item->result;

        if (!item->sha256 && startswith(item->url, "http://"))
                log_warning("%s came over plain http and its overlay pins no sha256: anybody on the way could have changed it. "
                            "Add \"sha256\": \"%s\" once you have compared it with what the vendor publishes",
                                item->what, sha256);
        if (item->size == 0) {
                int r = size_in_store(ctx, sha256, &item->size);

                if (r < 0)
                        return r;
        }
        if (w->before && !streq(w->before->sha256, sha256))
                log_info("The %s is locked anew, from %s: sha256 %s instead of %s", item->what,
                                item->url, sha256, w->before->sha256);
        return add(l, w, sha256, item->size);
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
                        .update = a->sha256 ? w->update : NULL,
                        .file = w->overlay->file };
        }
        r = fetch_all(ctx, "resolve", items, n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                r = lock_fetched(ctx, wanted + i, items + i, l);
                if (r < 0)
                        return log_error_errno(r, "%s cannot be locked", items[i].what);
        }
        return 0;
}

static const Artifact *find_artifact(const Recipe *recipe, const LockedArtifact *locked) {
        for (size_t i = 0; i < recipe->n_overlays; i++)
                for (size_t k = 0; k < recipe->overlays[i]->n_artifacts; k++)
                        if (streq(recipe->overlays[i]->name, locked->overlay) &&
                                        streq(recipe->overlays[i]->artifacts[k].name, locked->name))
                                return recipe->overlays[i]->artifacts + k;
        return NULL;
}

const Artifact *artifact_package(Context *ctx, const Recipe *recipe, const LockedArtifact *locked) {
        const Artifact *a = find_artifact(recipe, locked);

        return a && a->kind == INSTALL_PACKAGE && store_has_blob(ctx->store, locked->sha256) ? a
                                                                                             : NULL;
}

int artifacts_find_missing(char *const *brought_by, char *const *missing) {
        _cleanup_free_ char *overlays = NULL, *names = NULL;

        if (strv_length(missing) == 0)
                return 0;
        overlays = strv_join(brought_by, ", ");
        names = strv_join(missing, ", ");
        log_error("The packages that overlays bring as artifacts (%s) depend on what nothing in the recipe installs: %s. "
                  "Add these to the overlay's packages, so that they are locked",
                        strempty(overlays), strempty(names));
        return -EINVAL;
}

typedef struct WantedList {
        Wanted *wanted;
        size_t n;
} WantedList;

static void wanted_done(WantedList *w) {
        for (size_t i = 0; i < w->n; i++) {
                free(w->wanted[i].what);
                free(w->wanted[i].update);
        }
        free(w->wanted);
}

/* What is locked goes into `l` (may be NULL) as it is, the others are put on the list, which has
 * room for them. */
static int sort_out(const Overlay *o, const Lock *old, const ResolveOptions *options, Lock *l,
                WantedList *list) {
        for (size_t i = 0; i < o->n_artifacts; i++) {
                const Artifact *a = o->artifacts + i;
                const LockedArtifact *locked = lock_find_artifact(old, o->name, a->name);
                Wanted w = { .overlay = o, .artifact = a, .before = locked };

                /* One with a digest of its own cannot move without its overlay. */
                if (!is_locked(locked, a) || (!a->sha256 && moves(options, a)))
                        list->wanted[list->n++] = w;
                else if (l && add(l, &w, locked->sha256, locked->size) < 0)
                        return log_oom();
        }
        return 0;
}

int resolve_artifacts(Context *ctx, const Recipe *recipe, const Lock *old,
                const ResolveOptions *options, Lock *l) {
        _cleanup_(wanted_done) WantedList list = {};
        size_t total = 0;
        int r;

        for (size_t i = 0; i < recipe->n_overlays; i++)
                total += recipe->overlays[i]->n_artifacts;
        list.wanted = calloc(total + 1, sizeof(*list.wanted));
        if (!list.wanted)
                return log_oom();

        for (size_t i = 0; i < recipe->n_overlays; i++) {
                r = sort_out(recipe->overlays[i], old, options, l, &list);
                if (r < 0)
                        return r;
        }
        if (l && list.n > 0) {
                r = fetch_wanted(ctx, recipe, list.wanted, list.n, l);
                if (r < 0)
                        return r;
        }
        return (int) list.n;
}
