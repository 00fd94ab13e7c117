/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* For imgbuild lock --fetch and imgbuild cache export. */

#include "cmd/fetch-locked.h"
#include "shared/strv.h"
#include "stage/stage.h"
#include "store/store.h"

#include <sys/stat.h>

static int compare(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Both lists in one, each digest once. */
static int join(const char *const *a, const char *const *b, const char ***ret) {
        size_t n = strv_length((char *const *) a), m = strv_length((char *const *) b), kept = 0;
        const char **all = calloc(n + m + 1, sizeof(*all));

        if (!all)
                return log_oom();
        memcpy(all, a, n * sizeof(*all));
        memcpy(all + n, b, m * sizeof(*all));
        qsort(all, n + m, sizeof(*all), compare);
        for (size_t i = 0; i < n + m; i++)
                if (kept == 0 || !streq(all[i], all[kept - 1]))
                        all[kept++] = all[i];
        all[kept] = NULL;
        *ret = all;
        return 0;
}

/* A project may be without a recipe of tools: then another one's count, on the host that builds. */
static int load_tools(Context *ctx, const char *recipe, const char *name, Loaded *ret) {
        _cleanup_free_ char *tools_recipe = NULL, *tools_lock = NULL;
        int r = tools_recipe_find(ctx, recipe, name, &tools_recipe, &tools_lock);

        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return log_oom();
        return lock_and_plan(ctx, tools_recipe, tools_lock, ret);
}

static int list_of(const Loaded *l, const char ***ret) {
        return l->plan ? stages_list_downloads(l->plan, ret) : 0;
}

static int list(FetchedLocks *f) {
        _cleanup_free_ const char **own = NULL, **tools = NULL, **tools_el = NULL, **both = NULL;
        const char *const none[] = { NULL };
        int r;

        r = list_of(&f->own, &own);
        if (r < 0)
                return r;
        r = list_of(&f->tools, &tools);
        if (r < 0)
                return r;
        r = list_of(&f->tools_el, &tools_el);
        if (r < 0)
                return r;
        r = join(own, tools ? tools : none, &both);
        return r < 0 ? r : join(both, tools_el ? tools_el : none, &f->digests);
}

static int fetch(Context *ctx, const Loaded *l) {
        return l->plan ? stages_fetch_all(ctx, l->plan) : 0;
}

static void count(Store *store, const FetchedLocks *f, uint64_t *ret, uint64_t *ret_bytes) {
        *ret = *ret_bytes = 0;
        for (size_t i = 0; f->digests[i]; i++) {
                _cleanup_free_ char *path = store_blob_path(store, f->digests[i]);
                struct stat st;

                if (!path || stat(path, &st) < 0)
                        continue;
                *ret += 1;
                *ret_bytes += (uint64_t) st.st_size;
        }
}

int fetch_locked(Context *ctx, const char *recipe, FetchedLocks *ret) {
        _cleanup_fetched_locks_ FetchedLocks f = {};
        int r;

        r = lock_and_plan(ctx, recipe, NULL, &f.own);
        if (r < 0)
                return r;
        r = load_tools(ctx, recipe, TOOLS, &f.tools);
        if (r < 0)
                return r;
        r = f.own.recipe->family == FAMILY_EL ? load_tools(ctx, recipe, TOOLS_EL, &f.tools_el) : 0;
        if (r < 0)
                return r;
        r = list(&f);
        if (r < 0)
                return r;

        count(ctx->store, &f, &f.known, &f.known_bytes);
        r = fetch(ctx, &f.own);
        if (r < 0)
                return r;
        r = fetch(ctx, &f.tools);
        if (r < 0)
                return r;
        r = fetch(ctx, &f.tools_el);
        if (r < 0)
                return r;
        count(ctx->store, &f, &f.downloads, &f.bytes);
        f.downloads -= MIN(f.downloads, f.known);
        f.bytes -= MIN(f.bytes, f.known_bytes);

        *ret = f;
        f = (FetchedLocks) {};
        return 0;
}

void fetched_locks_done(FetchedLocks *f) {
        free(f->digests);
        loaded_done(&f->own);
        loaded_done(&f->tools);
        loaded_done(&f->tools_el);
}
