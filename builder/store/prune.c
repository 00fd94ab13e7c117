/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the store holds, how large it is, and taking the oldest away. Time stamps say when a thing
 * was last used: of layers the folder's own, of blobs the file's. */

#include "store/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define LOG_AGE_MAX \
        (30 * 24 * 3600) /* seconds: logs of stages stay so long where no age is asked for */

void store_entries_free(StoreEntry *entries, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(entries[i].digest);
                free(entries[i].what);
        }
        free(entries);
}

typedef struct EntryList {
        StoreEntry *entries;
        size_t n;
} EntryList;

static void entry_list_done(EntryList *l) {
        store_entries_free(l->entries, l->n);
}

/* Takes digest and what. */
static int entry_add(
                EntryList *l, char *digest, char *what, bool blob, uint64_t bytes, int64_t used) {
        StoreEntry *grown =
                        digest && what ? reallocarray(l->entries, l->n + 1, sizeof(*grown)) : NULL;

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

/* Calls fn for every name in a folder but those that start with a dot. A missing folder is an
 * empty one. */
static int each_name(const char *path,
                int (*fn)(const char *folder, const char *name, void *userdata), void *userdata) {
        DIR *d = opendir(path);
        int r = 0;

        if (!d)
                return errno == ENOENT ? 0 : -errno;
        for (struct dirent *e; r >= 0 && (e = readdir(d));)
                if (e->d_name[0] != '.')
                        r = fn(path, e->d_name, userdata);
        closedir(d);
        return r;
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
        if (json_load(meta_path, 16 * 1024 * 1024, &error, &meta) < 0)
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

        return path ? each_name(path, list_blob, userdata) : -ENOMEM;
}

static int by_use(const void *a, const void *b) {
        const StoreEntry *x = a, *y = b;

        if (x->used != y->used)
                return x->used < y->used ? -1 : 1;
        return strcmp(x->digest, y->digest);
}

static int list(Store *s, EntryList *l) {
        _cleanup_free_ char *layers = path_join(s->path, "layers"),
                            *blobs = path_join(s->path, "blobs/sha256");
        int r;

        if (!layers || !blobs)
                return -ENOMEM;
        r = each_name(layers, list_layer, l);
        if (r >= 0)
                r = each_name(blobs, list_blob_folder, l);
        if (r >= 0 && l->n > 1)
                qsort(l->entries, l->n, sizeof(*l->entries), by_use);
        return r;
}

int store_list(Store *s, StoreEntry **ret, size_t *ret_n) {
        _cleanup_(entry_list_done) EntryList l = {};
        int r = list(s, &l);

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
        return S_ISDIR(st.st_mode) ? each_name(path, add_size, userdata) : 0;
}

int store_usage(Store *s, StoreUsage *ret) {
        _cleanup_(entry_list_done) EntryList l = {};
        _cleanup_free_ char *work = path_join(s->path, "work");
        StoreUsage usage = {};
        int r;

        if (!work)
                return -ENOMEM;
        r = list(s, &l);
        if (r < 0)
                return r;
        for (size_t i = 0; i < l.n; i++) {
                *(l.entries[i].blob ? &usage.blobs : &usage.layers) += 1;
                *(l.entries[i].blob ? &usage.blob_bytes : &usage.layer_bytes) += l.entries[i].bytes;
        }
        r = each_name(work, add_size, &usage.scratch_bytes);
        if (r < 0 && r != -EACCES)
                return r;
        *ret = usage;
        return 0;
}

/* A layer leaves as it came: by one rename, so that no half of one is ever seen. Returns 1 where
 * it is gone, 0 where somebody uses it. */
static int prune_layer(Store *s, const char *digest, bool dry_run) {
        _cleanup_free_ char *path = store_layer_path(s, digest, NULL), *aside = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!path)
                return -ENOMEM;
        fd = store_lock(path, O_RDONLY | O_DIRECTORY, LOCK_EX | LOCK_NB);
        if (fd < 0)
                return fd == -EAGAIN || fd == -ENOENT ? 0 : fd;
        if (dry_run)
                return 1;
        r = store_scratch(s, "pruned", &aside);
        if (r < 0)
                return r;
        if (rename(path, aside) < 0)
                return -errno;
        r = rm_rf(aside);
        return r < 0 ? r : 1;
}

static int prune_blob(Store *s, const char *digest, bool dry_run) {
        _cleanup_free_ char *path = store_blob_path(s, digest);

        if (!path)
                return -ENOMEM;
        if (!dry_run && unlink(path) < 0)
                return errno == ENOENT ? 0 : -errno;
        return 1;
}

/* Logs, and lock files of layers: small, but they add up. */
static int prune_file(const char *folder, const char *name, void *userdata) {
        const int64_t *before = userdata;
        _cleanup_free_ char *path = path_join(folder, name);
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_mtim.tv_sec > *before ||
                        streq(name, "users"))
                return 0;
        fd = store_lock(path, O_RDONLY, LOCK_EX | LOCK_NB);
        if (fd >= 0)
                unlink(path);
        return 0;
}

int store_prune(Store *s, uint64_t max_age, uint64_t max_bytes, bool dry_run, uint64_t *ret_freed) {
        _cleanup_(entry_list_done) EntryList l = {};
        int64_t now = (int64_t) time(NULL), before, files_before;
        uint64_t total = 0, freed = 0;
        bool alone;
        int r;

        r = list(s, &l);
        if (r < 0)
                return r;
        for (size_t i = 0; i < l.n; i++)
                total += l.entries[i].bytes;
        before = max_age > (uint64_t) now ? 0 : now - (int64_t) max_age;
        files_before = MIN(before, now - LOG_AGE_MAX);

        alone = flock(s->users_fd, LOCK_EX | LOCK_NB) >= 0;
        if (!alone) {
                log_notice("Another imgbuild uses this store: downloads stay, and so do the layers it uses");
                flock(s->users_fd, LOCK_SH);
        }
        for (size_t i = 0; i < l.n; i++) {
                const StoreEntry *e = l.entries + i;

                if (e->used > before && total <= max_bytes)
                        continue;
                if (e->blob && !alone)
                        continue;
                r = e->blob ? prune_blob(s, e->digest, dry_run)
                            : prune_layer(s, e->digest, dry_run);
                if (r < 0)
                        break;
                if (r == 0)
                        continue;
                log_debug("%s %s %s", dry_run ? "Would remove" : "Removed",
                                e->blob ? "download" : "layer", e->digest);
                total -= e->bytes;
                freed += e->bytes;
        }
        if (r >= 0 && !dry_run) {
                _cleanup_free_ char *logs = path_join(s->path, "log"),
                                    *locks = path_join(s->path, "locks");

                r = logs && locks ? each_name(logs, prune_file, &files_before) : -ENOMEM;
                if (r >= 0)
                        r = each_name(locks, prune_file, &files_before);
        }
        if (alone)
                flock(s->users_fd, LOCK_SH);
        if (r < 0)
                return r;
        *ret_freed = freed;
        return 0;
}
