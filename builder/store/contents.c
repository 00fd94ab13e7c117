/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the store holds and how large it is. Time stamps say when a thing was last used: of layers
 * the folder's own, of blobs the file's. */

#include "store/contents.h"
#include "store/internal.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/strv.h"

#include <sys/stat.h>

#define META_MAX (16 * 1024 * 1024) /* bytes */

void store_entries_free(StoreEntry *entries, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(entries[i].digest);
                free(entries[i].what);
        }
        free(entries);
}

void entry_list_done(EntryList *l) {
        store_entries_free(l->entries, l->n);
}

/* Takes digest and what. */
static int entry_add(
                EntryList *l, char *digest, char *what, bool blob, uint64_t bytes, int64_t used) {
        StoreEntry *grown = NULL;

        if (digest && what)
                grown = reallocarray(l->entries, l->n + 1, sizeof(*grown));
        if (!grown) {
                free(digest);
                free(what);
                return -ENOMEM;
        }
        l->entries = grown;
        l->entries[l->n++] = (StoreEntry) {
                .digest = digest, .what = what, .blob = blob, .bytes = bytes, .used = used
        };
        return 0;
}

int store_each_name(const char *path,
                int (*fn)(const char *folder, const char *name, void *userdata), void *userdata) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_open(path, &d);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        FOLDER_FOREACH (name, d) {
                r = name[0] == '.' ? 0 : fn(path, name, userdata);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int list_layer(const char *folder, const char *name, void *userdata) {
        _cleanup_free_ char *path = path_join(folder, name),
                            *meta_path = strf("%s/%s/meta.json", folder, name);
        _cleanup_json_ json_object *meta = NULL;
        const char *digest, *recipe, *stage;
        JsonError error;
        struct stat st;

        if (!path || !meta_path)
                return -ENOMEM;
        if (stat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno; /* another prune was faster */
        if (json_load(meta_path, META_MAX, &error, &meta) < 0)
                meta = NULL;

        digest = json_get_string(meta, "digest");
        recipe = json_get_string(meta, "recipe");
        stage = json_get_string(meta, "stage");
        return entry_add(userdata, strdup(digest ? digest : name),
                        strf("%s%s%s", strempty(recipe), recipe && stage ? " " : "",
                                        strempty(stage)),
                        false, (uint64_t) json_get_int(meta, "bytes", 0), st.st_mtim.tv_sec);
}

static int list_blob(const char *folder, const char *name, void *userdata) {
        _cleanup_free_ char *path = path_join(folder, name);
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (stat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        return entry_add(userdata, strdup(name), strdup(""), true, (uint64_t) st.st_blocks * 512,
                        st.st_mtim.tv_sec);
}

static int list_blob_folder(const char *folder, const char *name, void *userdata) {
        _cleanup_free_ char *path = path_join(folder, name);

        return path ? store_each_name(path, list_blob, userdata) : -ENOMEM;
}

static int by_use(const void *a, const void *b) {
        const StoreEntry *x = a, *y = b;

        if (x->used != y->used)
                return x->used < y->used ? -1 : 1;
        return strcmp(x->digest, y->digest);
}

int entry_list_fill(EntryList *l, Store *s) {
        _cleanup_free_ char *layers = path_join(s->path, "layers"),
                            *blobs = path_join(s->path, "blobs/sha256");
        int r;

        if (!layers || !blobs)
                return -ENOMEM;
        r = store_each_name(layers, list_layer, l);
        if (r < 0)
                return r;
        r = store_each_name(blobs, list_blob_folder, l);
        if (r < 0)
                return r;

        if (l->n > 1)
                qsort(l->entries, l->n, sizeof(*l->entries), by_use);
        return 0;
}

int store_list(Store *s, StoreEntry **ret, size_t *ret_n) {
        _cleanup_(entry_list_done) EntryList l = {};
        int r = entry_list_fill(&l, s);

        if (r < 0)
                return r;
        *ret = TAKE_PTR(l.entries);
        *ret_n = l.n;
        l.n = 0;
        return 0;
}

static int add_size(const char *folder, const char *name, void *userdata) {
        _cleanup_free_ char *path = path_join(folder, name);
        uint64_t *bytes = userdata;
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (lstat(path, &st) < 0)
                return 0; /* scratch of others comes and goes */
        *bytes += (uint64_t) st.st_blocks * 512;
        return S_ISDIR(st.st_mode) ? store_each_name(path, add_size, userdata) : 0;
}

int store_usage(Store *s, StoreUsage *ret) {
        _cleanup_(entry_list_done) EntryList l = {};
        _cleanup_free_ char *work = path_join(s->path, "work"),
                            *partial = path_join(s->path, "blobs/partial");
        StoreUsage usage = {};
        int r;

        if (!work || !partial)
                return -ENOMEM;
        r = entry_list_fill(&l, s);
        if (r < 0)
                return r;
        for (size_t i = 0; i < l.n; i++) {
                *(l.entries[i].blob ? &usage.blobs : &usage.layers) += 1;
                *(l.entries[i].blob ? &usage.blob_bytes : &usage.layer_bytes) += l.entries[i].bytes;
        }
        r = store_each_name(work, add_size, &usage.scratch_bytes);
        if (r < 0 && r != -EACCES)
                return r;
        r = store_each_name(partial, add_size, &usage.scratch_bytes);
        if (r < 0)
                return r;
        *ret = usage;
        return 0;
}
