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

static const char *origin_uri(const Lock *lock, const Mirrors *mirrors, const char *name) {
        const LockedOrigin *origin = lock_find_origin(lock, name);
        const Mirror *mirror;

        if (origin && origin->uri)
                return origin->uri;
        mirror = mirrors_get(mirrors, name);
        return mirror ? mirror->uri : NULL;
}

static int describe(const Recipe *recipe, const Lock *lock, const Mirrors *mirrors,
                const char *history, const LockedPackage *p, Download *d, FetchItem *item) {
        const char *uri = origin_uri(lock, mirrors, p->origin);
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
                .archive = mirrors_get(mirrors, p->origin) ? history : NULL,
                .update = d->update,
        };
        return 0;
}

int fetch_packages(Context *ctx, const Recipe *recipe, const Lock *lock, const LockedStage *stage,
                const char *progress) {
        _cleanup_mirrors_ Mirrors mirrors = {};
        _cleanup_free_ char *history = mirror_history(recipe, lock->epoch);
        _cleanup_free_ FetchItem *items = NULL;
        Download *downloads = NULL;
        size_t n = 0, total = 0;
        int r = 0;

        for (size_t i = 0; i < stage->n_packages; i++)
                total += !store_has_blob(ctx->store, stage->packages[i].sha256);
        if (total == 0)
                return 0;
        if (!ctx->offline) { /* finding a mirror may take a moment, and offline it has no use */
                r = mirrors_find(ctx, recipe, &mirrors);
                if (r < 0)
                        return r;
        }
        items = calloc(total, sizeof(*items));
        downloads = calloc(total, sizeof(*downloads));
        if (!items || !downloads) {
                free(downloads);
                return log_oom();
        }
        for (size_t i = 0; r >= 0 && i < stage->n_packages; i++) {
                const LockedPackage *p = stage->packages + i;

                if (n == total || store_has_blob(ctx->store, p->sha256))
                        continue;
                if (ctx->offline) {
                        downloads[n].what = strf("%s %s", p->name, p->version);
                        items[n] = (FetchItem) {
                                .url = "",
                                .sha256 = p->sha256,
                                .size = p->size,
                                .what = downloads[n].what,
                        };
                        r = downloads[n].what ? 0 : log_oom();
                } else
                        r = describe(recipe, lock, &mirrors, history, p, downloads + n, items + n);
                n++;
        }
        if (r >= 0)
                r = fetch_all(ctx, progress, items, n);
        for (size_t i = 0; i < n; i++) {
                free(downloads[i].url);
                free(downloads[i].what);
                free(downloads[i].update);
        }
        free(downloads);
        return r;
}
