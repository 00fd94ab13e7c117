/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Layers of the store: a draft is made in scratch under the digest's lock, and becomes a layer by
 * one rename. */

#include "store/internal.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define WAIT_USEC (50 * USEC_PER_MSEC)

struct LayerDraft {
        Store *store;
        Digest digest;
        char *folder; /* in scratch; becomes layers/NAME */
        char *upper, *work;
        int lock_fd;
};

char *store_layer_path(Store *s, const char *digest, const char *sub) {
        return strf("%s/layers/%.*s%s%s", s->path, LAYER_NAME, digest, sub ? "/" : "",
                        strempty(sub));
}

int layer_hold(Store *s, const char *digest) {
        _cleanup_free_ char *path = NULL;
        Hold *grown;
        int fd;

        for (size_t i = 0; i < s->n_holds; i++)
                if (strncmp(s->holds[i].name, digest, LAYER_NAME) == 0)
                        return s->holds[i].fd;
        path = store_layer_path(s, digest, NULL);
        grown = reallocarray(s->holds, s->n_holds + 1, sizeof(*grown));
        if (grown)
                s->holds = grown;
        if (!path || !grown)
                return -ENOMEM;
        fd = store_lock(path, O_RDONLY | O_DIRECTORY, LOCK_SH);
        if (fd < 0)
                return fd;
        s->holds[s->n_holds] = (Hold) { .fd = fd };
        snprintf(s->holds[s->n_holds].name, LAYER_NAME + 1, "%s", digest);
        s->n_holds++;
        return fd;
}

void layer_release(Store *s, const char *digest) {
        for (size_t i = 0; i < s->n_holds; i++) {
                if (strncmp(s->holds[i].name, digest, LAYER_NAME) != 0)
                        continue;
                safe_close(s->holds[i].fd);
                s->holds[i] = s->holds[--s->n_holds];
                return;
        }
}

bool store_has_layer(Store *s, const char *digest) {
        _cleanup_free_ char *path =
                        digest_valid(digest) ? store_layer_path(s, digest, "meta.json") : NULL;

        return path && access(path, F_OK) >= 0;
}

char *store_layer_tree(Store *s, const char *digest) {
        (void) layer_hold(s, digest);
        return store_layer_path(s, digest, "tree");
}

int store_read_layer_meta(Store *s, const char *digest, json_object **ret) {
        _cleanup_free_ char *path = store_layer_path(s, digest, "meta.json");
        JsonError error;

        return path ? json_load(path, 16 * 1024 * 1024, &error, ret) : -ENOMEM;
}

int store_touch_layer(Store *s, const char *digest) {
        int fd = layer_hold(s, digest);

        if (fd < 0)
                return fd;
        return futimens(fd, NULL) < 0 ? -errno : 0;
}

/* Waits by asking, not in flock(): a Ctrl-C must end it. */
static int lock_digest(Store *s, const char *digest) {
        _cleanup_free_ char *path = strf("%s/locks/%.*s", s->path, LAYER_NAME, digest);
        bool said = false;

        if (!path)
                return -ENOMEM;
        for (;;) {
                int fd = store_lock(path, O_RDWR | O_CREAT, LOCK_EX | LOCK_NB);

                if (fd != -EAGAIN)
                        return fd;
                if (interrupt_signal())
                        return -ECANCELED;
                if (!said)
                        log_info("Waiting for another build, which makes layer %.12s", digest);
                said = true;
                usleep(WAIT_USEC);
        }
}

int store_begin_layer(Store *s, const char *digest, LayerDraft **ret_draft) {
        _cleanup_layer_draft_free_ LayerDraft *d = NULL;
        int r;

        if (store_has_layer(s, digest))
                return 1;
        d = calloc(1, sizeof(*d));
        if (!d)
                return -ENOMEM;
        d->store = s;
        snprintf(d->digest, sizeof(d->digest), "%s", digest);
        d->lock_fd = lock_digest(s, digest);
        if (d->lock_fd < 0)
                return d->lock_fd;
        if (store_has_layer(s, digest))
                return 1;

        r = store_scratch(s, "layer", &d->folder);
        if (r < 0)
                return r;
        d->upper = path_join(d->folder, "tree");
        d->work = path_join(d->folder, "work");
        if (!d->upper || !d->work)
                return -ENOMEM;
        /* The folder becomes the image's /: its mode must not depend on anybody's umask. */
        if (mkdir(d->upper, 0755) < 0 || chmod(d->upper, 0755) < 0 || mkdir(d->work, 0700) < 0)
                return -errno;
        *ret_draft = TAKE_PTR(d);
        return 0;
}

const char *layer_draft_upper(const LayerDraft *d) {
        return d->upper;
}

const char *layer_draft_work(const LayerDraft *d) {
        return d->work;
}

LayerDraft *layer_draft_free(LayerDraft *d) {
        if (!d)
                return NULL;
        if (d->folder)
                (void) rm_rf(d->folder);
        safe_close(d->lock_fd);
        free(d->folder);
        free(d->upper);
        free(d->work);
        free(d);
        return NULL;
}

static bool is_newer(const struct stat *st, const struct timespec *epoch) {
        return st->st_mtim.tv_sec > epoch->tv_sec ||
               (st->st_mtim.tv_sec == epoch->tv_sec && st->st_mtim.tv_nsec > 0);
}

/* What a tree takes on disk, and what it says that it holds: a script makes a hole of 8 EiB in no
 * time, and every byte of it would be hashed, and looked for in the image. */
typedef struct Extent {
        uint64_t bytes, apparent;
} Extent;

/* Of a file, link or node. Of hard links each has its share. */
static int clamp_leaf(int dir_fd, const char *name, const struct timespec *epoch, Extent *sum) {
        const struct timespec times[] = { *epoch, *epoch };
        struct stat st;

        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        sum->bytes += (uint64_t) st.st_blocks * 512 / (st.st_nlink ? st.st_nlink : 1);
        sum->apparent += (uint64_t) st.st_size / (st.st_nlink ? st.st_nlink : 1);
        if (sum->apparent > STORE_LAYER_MAX)
                return -EFBIG;
        if (!is_newer(&st, epoch))
                return 0;
        return utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Clamps the time stamps of dir_fd's children and of the folder itself, and adds up what they take
 * on disk. Takes dir_fd. */
static int clamp(int dir_fd, const struct timespec *epoch, Extent *sum) {
        const struct timespec times[] = { *epoch, *epoch };
        _cleanup_closedir_ DIR *d = NULL;
        const struct dirent *e;
        struct stat st;
        int r;

        r = folder_from_fd(dir_fd, &d);
        if (r < 0)
                return r;
        while ((e = folder_next(d))) {
                if (e->d_type == DT_DIR) {
                        int fd = openat(dirfd(d), e->d_name,
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                        r = fd < 0 ? -errno : clamp(fd, epoch, sum);
                } else
                        r = clamp_leaf(dirfd(d), e->d_name, epoch, sum);
                if (r < 0)
                        return r;
        }

        if (fstat(dirfd(d), &st) < 0)
                return -errno;
        sum->bytes += (uint64_t) st.st_blocks * 512;
        if (st.st_mtim.tv_sec < epoch->tv_sec)
                return 0;
        return futimens(dirfd(d), times) < 0 ? -errno : 0;
}

static int write_meta(LayerDraft *d, json_object *meta, uint64_t bytes) {
        _cleanup_json_ json_object *copy = NULL;
        _cleanup_free_ char *path = path_join(d->folder, "meta.json");
        const char *text;
        Digest tree;
        int r;

        if (!path)
                return -ENOMEM;
        r = layer_digest(d->upper, tree);
        if (r < 0)
                return r;
        if (meta ? json_object_deep_copy(meta, &copy, NULL) < 0
                 : !(copy = json_object_new_object()))
                return -ENOMEM;
        r = json_set_fields(copy, JSON_STRING("digest", d->digest),
                        JSON_STRING("tree_sha256", tree), JSON_INT("bytes", bytes));
        if (r < 0)
                return r;

        text = json_object_to_json_string_ext(
                        copy, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
        return text ? write_file_atomic(path, text, strlen(text), 0644) : -ENOMEM;
}

static int sync_folder(const char *path, bool file_system) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        return (file_system ? syncfs(fd) : fsync(fd)) < 0 ? -errno : 0;
}

/* Something without a meta.json is in the way: somebody's clean-up by hand. */
static int replace_folder(const char *folder, const char *target) {
        _cleanup_free_ char *aside = strf("%s.aside", folder);

        if (!aside)
                return -ENOMEM;
        if (rename(target, aside) < 0 || rename(folder, target) < 0)
                return -errno;
        return rm_rf(aside);
}

static int appear(const char *folder, const char *target) {
        if (rename(folder, target) >= 0)
                return 0;
        return errno == ENOTEMPTY || errno == EEXIST ? replace_folder(folder, target) : -errno;
}

int store_commit_layer(LayerDraft *d, int64_t epoch, json_object *meta) {
        _cleanup_free_ char *target = store_layer_path(d->store, d->digest, NULL),
                            *layers = path_join(d->store->path, "layers");
        const struct timespec clamp_to = { .tv_sec = epoch };
        Extent sum = {};
        int fd, r;

        if (!target || !layers)
                return -ENOMEM;
        r = rm_rf(d->work);
        if (r < 0)
                return r;
        fd = open(d->upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = clamp(fd, &clamp_to, &sum);
        if (r < 0)
                return r;
        r = write_meta(d, meta, sum.bytes);
        if (r < 0)
                return r;
        (void) layer_mark_verified(d->folder);

        /* One flush for the whole tree, not one a file; only then may the layer's name appear. */
        r = sync_folder(d->folder, true);
        if (r < 0)
                return r;
        r = appear(d->folder, target);
        if (r < 0)
                return r;
        free(TAKE_PTR(d->folder));
        return sync_folder(layers, false);
}
