/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Layers into a remote store: packed, digested, written, the record last. */

#include "stage/internal.h"
#include "stage/pack.h"
#include "stage/stage.h"
#include "store/verify.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/stat.h>

#define PUSH "push" /* its line in the display */

static int pack(Context *ctx, const Stage *s, const char *tree, int fd, RemoteLayer *l) {
        struct stat st;
        int r;

        r = pack_layer(tree, s->kind == STAGE_IMAGE, ctx->jobs, fd);
        if (r == -ENOTSUP)
                return log_error_return(-EIO,
                                "Stage %s: its layer has a socket, and cannot be pushed", s->id);
        if (r < 0)
                return r == -ECANCELED ? r
                                       : log_error_errno(r, "Stage %s: cannot pack its layer",
                                                         s->id);
        if (lseek(fd, 0, SEEK_SET) < 0 || fstat(fd, &st) < 0)
                return log_error_errno(errno, "Stage %s: cannot pack its layer", s->id);
        l->size = (uint64_t) st.st_size;
        r = digest_fd(fd, l->archive, NULL);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot read its archive", s->id);
        r = layer_portable_digest(tree, l->tree);
        return r < 0 && r != -ECANCELED
                               ? log_error_errno(r, "Stage %s: cannot read its layer", s->id)
                               : r;
}

static int describe(Context *ctx, const Stage *s, RemoteLayer *l) {
        _cleanup_json_ json_object *meta = NULL;
        int r = store_read_layer_meta(ctx->store, s->digest, &meta);

        if (r < 0)
                return log_error_errno(r, "Stage %s: its layer says nothing of itself", s->id);
        snprintf(l->digest, sizeof(l->digest), "%s", s->digest);
        l->made_with = json_object_get(json_get(meta, "made_with"));
        return 0;
}

static int write_layer(Context *ctx, const Stage *s, const SecretKey *key, uint64_t *ret_bytes) {
        _cleanup_free_ char *folder = NULL, *path = NULL, *why = NULL,
                            *tree = store_layer_tree(ctx->store, s->digest);
        _cleanup_remote_layer_ RemoteLayer l = {};
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = store_scratch(ctx->store, PUSH, &folder);
        path = r < 0 ? NULL : path_join(folder, "archive");
        if (!path || !tree)
                return log_error_errno(r < 0 ? r : -ENOMEM, "Stage %s: no room to pack it", s->id);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return log_error_errno(errno, "Stage %s: no room to pack it", s->id);
        (void) unlink(path);
        r = describe(ctx, s, &l);
        if (r < 0)
                return r;
        r = pack(ctx, s, tree, fd, &l);
        if (r < 0)
                return r;
        r = remote_write(ctx->remote, ctx, PUSH, &l, fd, key, &why);
        if (r == -ECANCELED)
                return r;
        if (r < 0) {
                log_error("Stage %s: its layer cannot be written to %s: %s", s->id,
                                remote_url(ctx->remote), isempty(why) ? strerror(-r) : why);
                return -EREMOTEIO;
        }
        *ret_bytes = l.size;
        return 0;
}

/* One with a wrong signature, or in another form, is written anew. */
static int push_stage(Context *ctx, const Stage *s, const SecretKey *key, Pushed *p) {
        _cleanup_remote_layer_ RemoteLayer there = {};
        _cleanup_free_ char *why = NULL;
        uint64_t bytes = 0;
        int r;

        if (!store_has_layer(ctx->store, s->digest)) {
                p->missing++;
                return 0;
        }
        r = remote_find(ctx->remote, s->digest, &there, &why);
        if (r > 0) {
                p->known++;
                return 0;
        }
        if (r == -ECANCELED)
                return r;
        if (r < 0 && r != -EBADMSG) {
                log_error("%s cannot be asked what it has: %s", remote_url(ctx->remote),
                                isempty(why) ? strerror(-r) : why);
                return -EREMOTEIO;
        }
        /* Rot would be everybody's from here on. */
        r = store_check_layer_again(ctx->store, s->digest);
        if (r == -ECANCELED)
                return r;
        if (r <= 0) {
                p->missing++;
                return 0;
        }
        r = write_layer(ctx, s, key, &bytes);
        if (r < 0)
                return r;
        p->layers++;
        p->bytes += bytes;
        return 0;
}

int stages_push(Context *ctx, const Plan *plan, const SecretKey *key, Pushed *p) {
        int r = 0;

        progress_add(ctx->progress, PUSH);
        progress_set(ctx->progress, PUSH, PROGRESS_RUNNING);
        for (size_t i = 0; i < plan->n_stages && r >= 0; i++)
                r = push_stage(ctx, plan->stages + i, key, p);
        progress_set(ctx->progress, PUSH, r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        return r;
}

static int push_download(Context *ctx, const char *sha256, Pushed *p) {
        _cleanup_free_ char *path = store_blob_path(ctx->store, sha256), *why = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        if (!path)
                return log_oom();
        r = store_check_blob(ctx->store, sha256);
        if (r <= 0)
                return r == -ECANCELED ? r : 0; /* dropped, or damaged: which was told */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || fstat(fd, &st) < 0)
                return log_error_errno(errno, "Download %.12s: cannot read it", sha256);
        r = remote_write_blob(ctx->remote, ctx, PUSH, sha256, fd, (uint64_t) st.st_size, &why);
        if (r == -ECANCELED)
                return r;
        if (r < 0) {
                log_error("Download %.12s cannot be written to %s: %s", sha256,
                                remote_url(ctx->remote), isempty(why) ? strerror(-r) : why);
                return -EREMOTEIO;
        }
        if (r > 0) {
                p->known_downloads++;
                return 0;
        }
        p->downloads++;
        p->download_bytes += (uint64_t) st.st_size;
        return 0;
}

int stages_push_downloads(Context *ctx, const Plan *plan, Pushed *p) {
        _cleanup_free_ const char **digests = NULL;
        int r;

        r = stages_list_downloads(plan, &digests);
        if (r < 0)
                return r;
        progress_add(ctx->progress, PUSH);
        progress_set(ctx->progress, PUSH, PROGRESS_RUNNING);
        for (size_t i = 0; digests[i] && r >= 0; i++)
                r = push_download(ctx, digests[i], p);
        progress_set(ctx->progress, PUSH, r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        return r;
}
