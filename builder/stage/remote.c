/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Layers that others have made, out of a remote store: each is asked for before it would be made,
 * held against what its record says twice, as an archive and as a tree, and then is a layer like
 * any other. Whatever goes wrong is a reason to make the layer here, and told once. */

#include "stage/internal.h"
#include "stage/plant.h"

#include "shared/file-util.h"
#include "shared/size.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "store/fetch.h"
#include "store/remote.h"

#include <fcntl.h>
#include <sys/statvfs.h>

#define REMOTE "remote" /* its line in the display */
#define ROOM_LEFT (UINT64_C(1024) * 1024 * 1024)

typedef struct Taking {
        Context *ctx;
        const Plan *plan;
} Taking;

static int note_unusable(const Taking *t, const Stage *s, const char *why) {
        RemoteTally *tally = remote_tally(t->ctx->remote);

        log_debug("Stage %s: the remote store's layer cannot be used: %s", s->id, strempty(why));
        if (tally->unusable++ == 0)
                tally->first = strf("stage %s: %s", s->id, strempty(why));
        return remote_refuse(t->ctx->remote, s->digest);
}

/* Runs in a child; its words are on standard output. */
typedef struct Unpacking {
        int fd;
        LayerRoom room;
} Unpacking;

static int unpack(void *userdata) {
        const Unpacking *u = userdata;
        _cleanup_free_ char *why = NULL;
        Planted planted = {};
        int r = plant_layer(u->fd, &u->room, &planted, &why);

        if (r >= 0)
                return 0;
        puts(isempty(why) ? strerror(-r) : why);
        (void) fflush(stdout);
        return 1;
}

static bool has_room(const Store *store, uint64_t size) {
        struct statvfs fs;

        return statvfs(store_path(store), &fs) < 0 ||
               size + ROOM_LEFT <= (uint64_t) fs.f_bavail * fs.f_frsize;
}

/* Two hundred times its own size may come out of an archive. */
static int watch_room(pid_t pid _unused_, void *userdata) {
        const Store *store = userdata;

        return has_room(store, 0) ? 0 : -ENOSPC;
}

/* A size is the server's word, and a build wants room, too. */
static int no_room(char **ret_why) {
        *ret_why = strdup("there is no room for what it has");
        return -ENOSPC;
}

/* -EBADMSG and *ret_why where the archive is none of a layer. */
static int unpack_archive_at(
                Taking *t, const Stage *s, const char *path, const char *folder, char **ret_why) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        _cleanup_free_ char *said = NULL;
        struct stat st;
        int status = 0, r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        Unpacking u = { fd, { .folder = folder,
                                            .packed = (uint64_t) st.st_size,
                                            .userxattr = store_userxattr(t->ctx->store),
                                            .devices = s->kind == STAGE_IMAGE } };
        r = spawn_capture(&(SpawnOptions) { .prepare = unpack,
                                          .prepare_data = &u,
                                          .watch = watch_room,
                                          .watch_data = t->ctx->store },
                        NULL, &said, &status);
        if (r == -ENOSPC)
                return no_room(ret_why);
        if (r < 0 || status == 0)
                return r;
        said[strcspn(said, "\n")] = '\0';
        text_disarm(said, false);
        *ret_why = strf("its archive cannot be unpacked: %s", said);
        return -EBADMSG;
}

static int check_tree(const char *tree, const RemoteLayer *l, char **ret_why) {
        Digest found;
        int r = layer_portable_digest(tree, found);

        if (r < 0)
                return r;
        if (streq(found, l->tree))
                return 0;
        *ret_why = strdup("what is in its archive is not what its record says");
        return -EBADMSG;
}

static int fetch(Taking *t, const RemoteLayer *l, char **ret_why) {
        _cleanup_free_ char *url = remote_blob_url(t->ctx->remote, l->archive);
        FetchItem item = { .url = url,
                .sha256 = l->archive,
                .size = l->size,
                .what = "a layer's archive",
                .s3 = remote_s3(t->ctx->remote),
                .optional = true };
        int r;

        if (!url)
                return -ENOMEM;
        if (!has_room(t->ctx->store, l->size))
                return no_room(ret_why);
        r = fetch_all(t->ctx, REMOTE, &item, 1);
        *ret_why = item.why;
        return r;
}

static int commit(Taking *t, size_t i, LayerDraft *draft, const RemoteLayer *l) {
        _cleanup_json_ json_object *meta = NULL;
        int r;

        r = stage_describe(t->plan, i, l->made_with, &meta);
        if (r < 0)
                return r;
        r = json_set_string(meta, "from", remote_url(t->ctx->remote));
        return r < 0 ? r
                     : store_commit_layer(draft, stage_newest_time(t->plan, t->plan->stages + i),
                                       meta);
}

/* Under the digest's lock: nobody else makes the layer, or takes it, at the same time. */
static int take_begun(
                Taking *t, size_t i, LayerDraft *draft, const RemoteLayer *l, char **ret_why) {
        _cleanup_free_ char *path = store_blob_path(t->ctx->store, l->archive);
        int r;

        if (!path)
                return -ENOMEM;
        r = fetch(t, l, ret_why);
        if (r < 0)
                return r;
        r = unpack_archive_at(t, t->plan->stages + i, path, layer_draft_upper(draft), ret_why);
        (void) unlink(path); /* the layer has it all */
        if (r < 0)
                return r;
        r = check_tree(layer_draft_upper(draft), l, ret_why);
        return r < 0 ? r : commit(t, i, draft, l);
}

/* 1: it is there now. */
static int take_described(Taking *t, size_t i, const RemoteLayer *l, char **ret_why) {
        RemoteTally *tally = remote_tally(t->ctx->remote);
        _cleanup_layer_draft_free_ LayerDraft *draft = NULL;
        int r;

        r = store_begin_layer(t->ctx->store, l->digest, &draft);
        if (r != 0)
                return r;
        r = take_begun(t, i, draft, l, ret_why);
        if (r < 0)
                return r;
        tally->taken++;
        tally->bytes += l->size;
        return 1;
}

/* 1: it is there now; 0: it is not there, or nothing that can be used; negative: the server, which
 * need not be asked again. */
static int take(Taking *t, size_t i, char **ret_why) {
        const Stage *s = t->plan->stages + i;
        _cleanup_remote_layer_ RemoteLayer l = {};
        int r;

        if (remote_refuses(t->ctx->remote, s->digest))
                return 0;
        r = remote_find(t->ctx->remote, s->digest, &l, ret_why);
        if (r == 0 || (r < 0 && r != -EBADMSG))
                return r;
        if (r > 0)
                r = take_described(t, i, &l, ret_why);
        return r == -EBADMSG || r == -EREMOTEIO ? note_unusable(t, s, *ret_why) : r;
}

static void tell(Remote *remote, size_t missing) {
        RemoteTally *t = remote_tally(remote);
        char size[FORMAT_BYTES_MAX];

        if (t->taken > 0)
                log_info("Took %zu layers from %s, %s", t->taken, remote_url(remote),
                                format_bytes(size, t->bytes));
        else if (missing > 0 && t->unusable == 0 && remote_is_usable(remote))
                log_info("%s has none of the %zu layers that are missing here", remote_url(remote),
                                missing);
        if (t->unusable > 0)
                log_warning("%zu layers of the remote store %s cannot be used, and are made here: %s",
                                t->unusable, remote_url(remote), strempty(t->first));
        free(t->first);
        *t = (RemoteTally) {};
}

static int take_all(Taking *t, bool *missing, size_t last) {
        for (size_t i = 0; i <= last && remote_is_usable(t->ctx->remote); i++) {
                const Stage *s = t->plan->stages + i;
                _cleanup_free_ char *why = NULL;
                int r;

                if (!missing[i])
                        continue;
                r = take(t, i, &why);
                if (r == -ECANCELED || r == -ENOMEM)
                        return r;
                if (r < 0) {
                        log_warning("The remote store %s is left alone from now on: %s. What it may have is made here",
                                        remote_url(t->ctx->remote),
                                        isempty(why) ? strerror(-r) : why);
                        remote_give_up(t->ctx->remote);
                        return 0;
                }
                if (r == 0 || store_touch_layer(t->ctx->store, s->digest) < 0)
                        continue;
                missing[i] = false;
                progress_set(t->ctx->progress, s->id, PROGRESS_CACHED);
        }
        return 0;
}

int stage_take_remote(Context *ctx, const Plan *plan, bool *missing, size_t last) {
        Taking t = { .ctx = ctx, .plan = plan };
        int r;

        if (ctx->offline || !remote_is_usable(ctx->remote))
                return 0;
        progress_add(ctx->progress, REMOTE);
        progress_set(ctx->progress, REMOTE, PROGRESS_RUNNING);
        r = take_all(&t, missing, last);
        progress_set(ctx->progress, REMOTE, r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        return r == -ENOMEM ? log_oom() : r;
}

void stage_tell_remote(const Context *ctx, const bool *missing, size_t last) {
        size_t n = 0;

        if (ctx->offline || !ctx->remote)
                return;
        for (size_t i = 0; i <= last; i++)
                n += missing[i];
        tell(ctx->remote, n);
}
