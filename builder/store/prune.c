/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Removes the least recently used layers and downloads from the store. */

#include "store/contents.h"
#include "store/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

/* Seconds that logs of stages stay where no age is asked for. */
#define LOG_AGE_MAX (30 * 24 * 3600)

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

int store_drop_blobs(Store *s, const char *const *digests) {
        int r = 0;

        if (flock(s->users_fd, LOCK_EX | LOCK_NB) < 0) {
                r = errno == EWOULDBLOCK ? -EBUSY : -errno;
                flock(s->users_fd, LOCK_SH); /* a failed change may have lost it */
                return r;
        }
        for (size_t i = 0; digests[i] && r >= 0; i++)
                r = prune_blob(s, digests[i], false);
        flock(s->users_fd, LOCK_SH);
        return MIN(r, 0);
}

/* Logs, lock files of layers, records of plans: small, but they add up. */
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

/* What came of downloads that did not end, and that nobody goes on with at this moment: the first
 * to go, for less is lost by it. */
typedef struct Partials {
        int64_t before;
        uint64_t max_bytes, total, freed;
        bool dry_run;
} Partials;

static int prune_partial(const char *folder, const char *name, void *userdata) {
        Partials *p = userdata;
        _cleanup_free_ char *path = path_join(folder, name);
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        uint64_t bytes;

        if (!path)
                return -ENOMEM;
        if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
                return 0;
        bytes = (uint64_t) st.st_blocks * 512;
        p->total += bytes;
        if (st.st_mtim.tv_sec > p->before && p->total <= p->max_bytes)
                return 0;
        fd = store_lock(path, O_RDONLY, LOCK_EX | LOCK_NB);
        if (fd < 0)
                return 0;
        if (!p->dry_run && unlink(path) < 0)
                return -errno;
        p->total -= bytes;
        p->freed += bytes;
        return 0;
}

/* Removes from the oldest on what was last used before `before`, or is too much. */
static int prune_entries(Store *s, const EntryList *l, int64_t before, uint64_t max_bytes,
                bool with_blobs, bool dry_run, uint64_t *freed) {
        _cleanup_free_ char *partial = path_join(s->path, "blobs/partial");
        Partials p = { .before = before, .max_bytes = max_bytes, .dry_run = dry_run };
        uint64_t total;
        int r;

        for (size_t i = 0; i < l->n; i++)
                p.total += l->entries[i].bytes;
        r = partial ? store_each_name(partial, prune_partial, &p) : -ENOMEM;
        if (r < 0)
                return r;
        total = p.total;
        *freed += p.freed;

        for (size_t i = 0; i < l->n; i++) {
                const StoreEntry *e = l->entries + i;

                if (e->used > before && total <= max_bytes)
                        continue;
                if (e->blob && !with_blobs)
                        continue;
                r = e->blob ? prune_blob(s, e->digest, dry_run)
                            : prune_layer(s, e->digest, dry_run);
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;

                log_debug("%s %s %s", dry_run ? "Would remove" : "Removed",
                                e->blob ? "download" : "layer", e->digest);
                total -= e->bytes;
                *freed += e->bytes;
        }
        return 0;
}

static int prune_files(Store *s, int64_t before) {
        static const char *const folders[] = { "log", "locks", "plans" };
        _cleanup_free_ char *damaged = path_join(s->path, "damaged");

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = path_join(s->path, folders[i]);
                int r = path ? store_each_name(path, prune_file, &before) : -ENOMEM;

                if (r < 0)
                        return r;
        }
        return damaged ? rm_rf(damaged) : -ENOMEM;
}

static int prune_all(Store *s, EntryList *l, int64_t before, int64_t now, uint64_t max_bytes,
                bool alone, bool dry_run, uint64_t *ret_freed) {
        uint64_t freed = 0;
        int r;

        r = prune_entries(s, l, before, max_bytes, alone, dry_run, &freed);
        if (r < 0)
                return r;
        if (!dry_run) {
                r = prune_files(s, MIN(before, now - LOG_AGE_MAX));
                if (r < 0)
                        return r;
        }
        *ret_freed = freed;
        return 0;
}

int store_prune(Store *s, uint64_t max_age, uint64_t max_bytes, bool dry_run, uint64_t *ret_freed) {
        _cleanup_(entry_list_done) EntryList l = {};
        int64_t now = (int64_t) time(NULL), before;
        bool alone;
        int r;

        r = entry_list_fill(&l, s);
        if (r < 0)
                return r;

        before = max_age > (uint64_t) now ? 0 : now - (int64_t) max_age;
        alone = flock(s->users_fd, LOCK_EX | LOCK_NB) >= 0;
        if (!alone) {
                log_notice("Another imgbuild uses this store: downloads stay, and so do the layers it uses");
                flock(s->users_fd, LOCK_SH);
        }
        r = prune_all(s, &l, before, now, max_bytes, alone, dry_run, ret_freed);
        if (alone)
                flock(s->users_fd, LOCK_SH);
        return r;
}
