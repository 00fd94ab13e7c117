/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One download, from its partial file to a blob. A partial file is named by what it will be, so
 * that any later run goes on with it; what is received is trusted by its digest alone, or where
 * none is known, by the validator that its server gave. */

#include "store/transfer.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define PARTIAL_AGE_MAX_SECONDS (7 * 24 * 60 * 60)

/* Where it is not known what the file will be, only this URL's next try may go on from it. */
static char *partial_path(const Context *ctx, const FetchItem *item) {
        const char *store = store_path(ctx->store);
        _cleanup_hash_free_ Hash *h = NULL;
        Digest digest;

        if (item->sha256)
                return strf("%s/blobs/partial/%s", store, item->sha256);
        if (hash_new(&h) < 0)
                return NULL;
        hash_field(h, "url", item->url);
        hash_end(h, digest);
        return strf("%s/blobs/partial/url-%s", store, digest);
}

int transfer_init(Transfer *t, Context *ctx, FetchItem *item) {
        *t = (Transfer) {
                .item = item,
                .fd = -EBADF,
                .partial = partial_path(ctx, item),
                .host = http_server(item->url),
        };
        return t->partial && t->host ? 0 : -ENOMEM;
}

void transfer_close(Transfer *t) {
        t->fd = safe_close(t->fd);
}

void transfer_abandon(Transfer *t) {
        if (t->fd >= 0 && !t->item->sha256) /* whose next run begins anew, see transfer_open() */
                (void) unlink(t->partial);
}

void transfer_done(Transfer *t) {
        if (t->easy)
                curl_easy_cleanup(t->easy);
        if (t->state == TRANSFER_WAITING || t->state == TRANSFER_RUNNING) /* interrupted */
                transfer_abandon(t);
        transfer_close(t);
        curl_slist_free_all(t->headers);
        free(t->partial);
        free(t->validator);
        free(t->reason);
        free(t->host);
}

static int say(Transfer *t, int r, const char *format, ...) _printf_(3, 4);

/* Keeps the reason and returns r. */
static int say(Transfer *t, int r, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        char *text = vstrf(format, ap);
        va_end(ap);
        free(t->reason);
        t->reason = text;
        return r;
}

int transfer_start_over(Transfer *t) {
        if (ftruncate(t->fd, 0) < 0)
                return -errno;
        t->size = 0;
        t->resumed = false;
        free(t->validator);
        t->validator = NULL;
        return 0;
}

/* Opens and locks the partial file. -EAGAIN where another build has it. */
static int lock_partial(const Transfer *t, struct stat *ret) {
        for (;;) {
                _cleanup_close_ int fd =
                                open(t->partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
                struct stat opened, there;

                if (fd < 0)
                        return -errno;
                if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
                if (fstat(fd, &opened) < 0)
                        return -errno;
                /* Between the two calls whoever held the lock may have moved the file into the
                 * store. */
                if (stat(t->partial, &there) < 0 || there.st_ino != opened.st_ino)
                        continue;

                *ret = opened;
                return TAKE_FD(fd);
        }
}

int transfer_open(Transfer *t, Context *ctx) {
        const FetchItem *item = t->item;
        _cleanup_close_ int fd = -EBADF;
        struct stat st = {};

        if (item->sha256 && store_has_blob(ctx->store, item->sha256))
                return 1;
        if (t->fd >= 0)
                return 0;
        fd = lock_partial(t, &st);
        if (fd < 0)
                return fd;
        if (item->sha256 && store_has_blob(ctx->store, item->sha256)) {
                unlink(t->partial);
                return 1;
        }

        t->fd = TAKE_FD(fd);
        t->size = t->best = (uint64_t) st.st_size;
        /* Nothing tells whether an earlier run's bytes are of what the URL serves now, unless a
         * digest will. */
        if (t->size > 0 && (!item->sha256 || (item->size > 0 && t->size > item->size)))
                return transfer_start_over(t);
        return 0;
}

static void sweep_partial(int folder_fd, const char *name, int64_t oldest) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return;
        if (!S_ISREG(st.st_mode) || st.st_mtime >= oldest)
                return;
        fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) >= 0) /* nobody is at it */
                unlinkat(folder_fd, name, 0);
}

void transfer_sweep(const char *folder) {
        int64_t oldest = (int64_t) time(NULL) - PARTIAL_AGE_MAX_SECONDS;
        _cleanup_closedir_ DIR *d = NULL;

        if (folder_open(folder, &d) < 0)
                return;
        FOLDER_FOREACH (name, d)
                if (name[0] != '.')
                        sweep_partial(dirfd(d), name, oldest);
}

/* What an earlier run left may be to blame: then it is worth another try, once. */
static int refuse_file(Transfer *t, const Digest digest) {
        bool resumed = t->resumed && !t->restarted;
        int r;

        r = transfer_start_over(t);
        if (r < 0)
                return r;
        if (resumed) {
                t->restarted = true;
                t->best = 0;
                return say(t, 1, "the resumed file had a wrong digest");
        }
        unlink(t->partial);
        return say(t, -EBADMSG, "its sha256 is %s, not %s", digest, t->item->sha256);
}

/* A whole file: is it the right one? */
static int accept_file(Transfer *t, Context *ctx) {
        FetchItem *item = t->item;
        Digest digest;
        int r;

        if (item->size > 0 && t->size < item->size)
                return say(t, 1, "only %" PRIu64 " of %" PRIu64 " bytes came", t->size, item->size);
        if (lseek(t->fd, 0, SEEK_SET) < 0)
                return say(t, -errno, "cannot read %s: %s", t->partial, strerror(errno));
        r = digest_fd(t->fd, digest, NULL);
        if (r < 0)
                return say(t, r, "cannot read %s: %s", t->partial, strerror(-r));
        if (item->sha256 && !streq(digest, item->sha256))
                return refuse_file(t, digest);

        r = store_add_blob(ctx->store, t->partial, item->sha256, item->result);
        if (r < 0)
                return say(t, r, "cannot store it: %s", strerror(-r));
        item->size = t->size;
        return 0;
}

static int refuse_length(Transfer *t) {
        int r;

        r = transfer_start_over(t);
        if (r < 0)
                return r;
        return say(t, -EBADMSG, "it is longer than the %" PRIu64 " bytes it %s have",
                        transfer_max(t), t->item->size > 0 ? "should" : "may");
}

/* Asked for what the file does not have: it is whole already, or the partial file is not of it. */
static int refuse_range(Transfer *t, Context *ctx, long answer) {
        int r = 1;

        if (answer == 416 && t->item->size > 0 && t->size == t->item->size)
                r = accept_file(t, ctx);
        if (r <= 0)
                return r;

        r = transfer_start_over(t);
        if (r < 0)
                return r;
        return say(t, 1, "the server did not go on where the download had stopped");
}

int transfer_finish(Transfer *t, Context *ctx, CURLcode code) {
        const char *text = t->curl_error[0] ? t->curl_error : curl_easy_strerror(code);
        long answer = 0;

        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &answer);
        if (t->error < 0)
                return say(t, t->error, "cannot write %s: %s", t->partial, strerror(-t->error));
        if (t->too_long)
                return refuse_length(t);
        if (t->range_wrong || answer == 416)
                return refuse_range(t, ctx, answer);

        switch (code) {
        case CURLE_OK:
                return accept_file(t, ctx);
        case CURLE_HTTP_RETURNED_ERROR:
                if (http_answer_is_transient(answer))
                        return say(t, 1, "the server answered %ld", answer);
                t->gone = answer == 404 || answer == 410;
                return say(t, -EREMOTEIO, "the server answered %ld%s", answer,
                                t->gone         ? " (not there)"
                                : answer != 401 ? ""
                                : t->withheld ? "; the login that this host's apt has for it goes over https alone"
                                              : " (it wants a login, or another one: /etc/apt/auth.conf.d, see apt_auth.conf(5))");
        case CURLE_BAD_DOWNLOAD_RESUME: /* a local file that has become shorter */
        case CURLE_RANGE_ERROR:
                return refuse_range(t, ctx, 416);
        case CURLE_FILE_COULDNT_READ_FILE:
                t->gone = true;
                if (startswith(t->item->url, "file:"))
                        text = "there is no such file, or it cannot be read";
                return say(t, -EREMOTEIO, "%s", text);
        default:
                return say(t, http_is_transient(code) ? 1 : -EREMOTEIO, "%s", text);
        }
}
