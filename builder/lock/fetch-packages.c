/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locked packages to downloads: the URL is the mirror in force on this host and the package's path
 * below it. */

#include "store/fetch.h"
#include "store/store.h"
#include "lock/internal.h"
#include "lock/mirror.h"

#include <ctype.h>

typedef struct Download {
        char *url, *what, *update;
} Download;

/* As apt writes URLs: everything but the plainest characters escaped. Some mirrors are object
 * stores that read a bare '+' as a space. */
static char *escape_path(const char *path) {
        char *escaped = malloc(strlen(path) * 3 + 1), *p = escaped;

        if (!escaped)
                return NULL;
        for (; *path; path++)
                if (isalnum((unsigned char) *path) || strchr("/._-~:", *path))
                        *p++ = *path;
                else
                        p += sprintf(p, "%%%02x", (unsigned char) *path);
        *p = '\0';
        return escaped;
}

/* The mirror that has the origin's packages; NULL for a repository with a place of its own. */
static const Mirror *origin_mirror(const Mirrors *mirrors, const LockedOrigin *origin) {
        if (!origin || origin->uri || mirrors->n == 0)
                return NULL;
        return origin->fingerprint ? mirrors->mirrors : mirrors_get(mirrors, origin->name);
}

static int describe(const Recipe *recipe, const Lock *lock, const Mirrors *mirrors,
                const char *history, const LockedPackage *p, Download *d, FetchItem *item) {
        const LockedOrigin *origin = lock_find_origin(lock, p->origin);
        const Mirror *mirror = origin_mirror(mirrors, origin);
        const char *uri = mirror ? mirror->uri : origin ? origin->uri : NULL;
        _cleanup_free_ char *path = escape_path(p->path);
        size_t n;

        if (!uri) {
                log_error("%s: package %s comes from \"%s\", which is no archive of %s: 'imgbuild lock %s --update' makes the lock anew",
                                recipe->lock_path, p->name, p->origin, recipe->base.distro,
                                recipe->path);
                return -EINVAL;
        }
        n = strlen(uri);
        while (n > 0 && uri[n - 1] == '/')
                n--;
        d->url = path ? strf("%.*s/%s", (int) n, uri, path) : NULL;
        d->what = strf("%s %s", p->name, p->version);
        d->update = strf("imgbuild lock %s --update %s", recipe->path, p->name);
        if (!d->url || !d->what || !d->update)
                return log_oom();
        *item = (FetchItem) {
                .url = d->url,
                .sha256 = p->sha256,
                .size = p->size,
                .what = d->what,
                .archive = mirror ? history : NULL,
                .update = d->update,
        };
        return 0;
}

typedef struct Downloads {
        Download *list;
        FetchItem *items;
        size_t n;
} Downloads;

static void downloads_done(Downloads *d) {
        for (size_t i = 0; i < d->n; i++) {
                free(d->list[i].url);
                free(d->list[i].what);
                free(d->list[i].update);
        }
        free(d->list);
        free(d->items);
}

/* Offline nothing is fetched: this only says what is missing. */
static int describe_offline(const LockedPackage *p, Download *d, FetchItem *item) {
        d->what = strf("%s %s", p->name, p->version);
        if (!d->what)
                return log_oom();
        *item = (FetchItem) { .url = "", .sha256 = p->sha256, .size = p->size, .what = d->what };
        return 0;
}

int fetch_packages(Context *ctx, const Recipe *recipe, const Lock *lock, const LockedStage *stage,
                const char *progress) {
        _cleanup_mirrors_ Mirrors mirrors = {};
        _cleanup_free_ char *history = mirror_history(recipe, lock->epoch);
        _cleanup_(downloads_done) Downloads d = {};
        size_t total = 0;
        int r;

        for (size_t i = 0; i < stage->n_packages; i++)
                total += !store_has_blob(ctx->store, stage->packages[i].sha256);
        if (total == 0)
                return 0;
        /* Finding a mirror may take a moment, and offline it has no use. */
        if (!ctx->offline && recipe->family == FAMILY_DEBIAN) {
                r = mirrors_find(ctx, recipe, &mirrors);
                if (r < 0)
                        return r;
        }

        d.items = calloc(total, sizeof(*d.items));
        d.list = calloc(total, sizeof(*d.list));
        if (!d.items || !d.list)
                return log_oom();
        for (size_t i = 0; i < stage->n_packages && d.n < total; i++) {
                const LockedPackage *p = stage->packages + i;
                size_t k;

                if (store_has_blob(ctx->store, p->sha256))
                        continue;
                k = d.n++;
                r = ctx->offline ? describe_offline(p, d.list + k, d.items + k)
                                 : describe(recipe, lock, &mirrors, history, p, d.list + k,
                                                   d.items + k);
                if (r < 0)
                        return r;
        }
        return fetch_all(ctx, progress, d.items, d.n);
}
