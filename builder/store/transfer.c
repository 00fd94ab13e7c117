/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/transfer.h"
#include "store/store.h"
#include "shared/file-util.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define CONNECT_TIMEOUT_SECONDS 15
#define REDIRECTS_MAX 8
#define PARTIAL_AGE_MAX_SECONDS (7 * 24 * 60 * 60)
#define STALL_BYTES 1024

int transfer_init(Transfer *t, Context *ctx, FetchItem *item) {
        const char *scheme = strstr(item->url, "://"), *name = item->sha256;
        Digest url_digest;

        *t = (Transfer) { .item = item, .fd = -EBADF };
        if (!name) { /* what it will be is not known: only this URL's next try may go on from it */
                _cleanup_hash_free_ Hash *h = NULL;
                int r = hash_new(&h);

                if (r < 0)
                        return r;
                hash_field(h, "url", item->url);
                hash_end(h, url_digest);
                name = url_digest;
        }
        t->partial = strf("%s/blobs/partial/%s%s", store_path(ctx->store),
                        item->sha256 ? "" : "url-", name);
        t->host = scheme ? strndup(item->url, (size_t) (scheme - item->url) + 3 +
                                                              strcspn(scheme + 3, "/"))
                         : strdup(item->url);
        return t->partial && t->host ? 0 : -ENOMEM;
}

void transfer_close(Transfer *t) {
        t->fd = safe_close(t->fd);
}

void transfer_done(Transfer *t) {
        if (t->easy)
                curl_easy_cleanup(t->easy);
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
        char *text = NULL;
        va_list ap;

        va_start(ap, format);
        if (vasprintf(&text, format, ap) < 0)
                text = NULL;
        va_end(ap);
        free(t->reason);
        t->reason = text;
        return r;
}

static int start_over(Transfer *t) {
        if (ftruncate(t->fd, 0) < 0)
                return -errno;
        t->size = 0;
        t->resumed = false;
        free(t->validator);
        t->validator = NULL;
        return 0;
}

int transfer_open(Transfer *t, Context *ctx) {
        struct stat opened, there;

        if (t->item->sha256 && store_has_blob(ctx->store, t->item->sha256))
                return 1;
        if (t->fd >= 0)
                return 0;
        for (;;) {
                _cleanup_close_ int fd =
                                open(t->partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

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
                if (t->item->sha256 && store_has_blob(ctx->store, t->item->sha256)) {
                        unlink(t->partial);
                        return 1;
                }
                t->fd = TAKE_FD(fd);
                break;
        }
        t->size = t->best = (uint64_t) opened.st_size;
        /* Nothing tells whether an earlier run's bytes are of what the URL serves now, unless a
         * digest will. */
        if (t->size > 0 && (!t->item->sha256 || (t->item->size > 0 && t->size > t->item->size)))
                return start_over(t);
        return 0;
}

void transfer_sweep(const char *folder) {
        int64_t oldest = (int64_t) time(NULL) - PARTIAL_AGE_MAX_SECONDS;
        DIR *d = opendir(folder);

        if (!d)
                return;
        for (struct dirent *e; (e = readdir(d));) {
                _cleanup_close_ int fd = -EBADF;
                struct stat st;

                if (e->d_name[0] == '.' ||
                                fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                                !S_ISREG(st.st_mode) || st.st_mtime >= oldest)
                        continue;
                fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
                if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) >= 0) /* nobody is at it */
                        unlinkat(dirfd(d), e->d_name, 0);
        }
        closedir(d);
}

static size_t on_header(char *data, size_t one, size_t n, void *userdata) {
        Transfer *t = userdata;
        static const char *const validators[] = { "etag:", "last-modified:" };

        if (n > 5 && strncmp(data, "HTTP/", 5) == 0) { /* of a redirect's target, say */
                t->range_start = 0;
                if (t->size == 0) {
                        free(t->validator);
                        t->validator = NULL;
                }
                return n * one;
        }
        if (n > 21 && strncasecmp(data, "content-range: bytes ", 21) == 0)
                t->range_start = strtoull(data + 21, NULL, 10);
        for (size_t i = 0; i < ELEMENTSOF(validators) && !t->item->sha256; i++) {
                size_t l = strlen(validators[i]);

                if (n <= l || strncasecmp(data, validators[i], l) != 0 || t->size > 0 ||
                                t->validator)
                        continue;
                const char *value = data + l;
                size_t length = n - l;
                while (length > 0 && (value[length - 1] == '\r' || value[length - 1] == '\n'))
                        length--;
                while (length > 0 && *value == ' ')
                        value++, length--;
                if (length > 0 && strncmp(value, "W/", 2) !=
                                                  0) /* a weak one does not vouch for bytes */
                        t->validator = strndup(value, length);
        }
        return n * one;
}

static size_t on_body(char *data, size_t one, size_t n, void *userdata) {
        Transfer *t = userdata;
        size_t size = one * n;

        if (!t->body) {
                long code = 0;

                t->body = true;
                curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &code);
                if (code == 206 && t->range_start != t->size) {
                        t->range_wrong = true;
                        return 0;
                }
                if (code != 206 && t->size > 0) /* the whole file, whatever was asked for */
                        t->error = start_over(t);
        }
        if (t->item->size > 0 && t->size + size > t->item->size) {
                t->too_long = true;
                return 0;
        }
        for (size_t done = 0; done < size && t->error == 0;) {
                ssize_t written = pwrite(t->fd, data + done, size - done, (off_t) t->size);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0) {
                        t->error = -errno;
                        break;
                }
                done += (size_t) written;
                t->size += (uint64_t) written;
        }
        return t->error == 0 ? size : 0;
}

static long stall_seconds(void) {
        const char *s = getenv("IMGBUILD_FETCH_STALL_SECONDS");
        long n = s ? strtol(s, NULL, 10) : 0;

        return n > 0 ? n : 30;
}

int transfer_start(Transfer *t, const char *proxy) {
        const char *scheme = strstr(t->item->url, "://");
        bool secure = startswith(t->item->url, "https://");
        CURL *e = curl_easy_init();
        char range[32];

        if (!e)
                return -ENOMEM;
        t->easy = e;
        t->body = t->range_wrong = t->too_long = false;
        t->error = 0;
        t->range_start = 0;
        t->curl_error[0] = '\0';
        t->resumed = t->size > 0;

        curl_easy_setopt(e, CURLOPT_URL, t->item->url);
        curl_easy_setopt(e, CURLOPT_PRIVATE, t);
        curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(e, CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->curl_error);
        curl_easy_setopt(e, CURLOPT_USERAGENT, "imgbuild/" VERSION);
        curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
        curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
        curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
        curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 1L);
        curl_easy_setopt(e, CURLOPT_MAXREDIRS, (long) REDIRECTS_MAX);
        curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT, (long) CONNECT_TIMEOUT_SECONDS);
        curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, (long) STALL_BYTES);
        curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, stall_seconds());
        curl_easy_setopt(e, CURLOPT_NETRC, (long) CURL_NETRC_OPTIONAL);
        curl_easy_setopt(e, CURLOPT_NETRC_FILE,
                        "/etc/apt/auth.conf"); /* where hosts keep a private mirror's login */
        /* A redirect may neither reach local files nor leave TLS. */
#if LIBCURL_VERSION_NUM >= 0x075500
        curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https,file");
        curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
#else
        curl_easy_setopt(e, CURLOPT_PROTOCOLS,
                        (long) (CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE));
        curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS,
                        (long) (secure ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
        if (proxy)
                curl_easy_setopt(e, CURLOPT_PROXY, proxy);

        /* Without a validator, bytes of two versions could be mixed and nobody would notice. */
        if (t->size > 0 && !t->item->sha256 && !t->validator) {
                int r = start_over(t);
                if (r < 0)
                        return r;
        }
        if (t->size > 0 && scheme) {
                snprintf(range, sizeof(range), "%" PRIu64 "-", t->size);
                curl_easy_setopt(e, CURLOPT_RANGE, range);
                if (!t->item->sha256) { /* the whole file instead, if it is another one by now */
                        _cleanup_free_ char *header = strf("If-Range: %s", t->validator);

                        curl_slist_free_all(t->headers);
                        t->headers = header ? curl_slist_append(NULL, header) : NULL;
                        if (!t->headers)
                                return -ENOMEM;
                        curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
                }
        }
        return 0;
}

static bool transient(CURLcode code) {
        switch (code) {
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_CONNECT:
        case CURLE_PARTIAL_FILE:
        case CURLE_OPERATION_TIMEDOUT:
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_GOT_NOTHING:
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
        case CURLE_HTTP2:
        case CURLE_HTTP2_STREAM:
        case CURLE_AGAIN:
        case CURLE_WEIRD_SERVER_REPLY:
                return true;
        default:
                return false;
        }
}

static bool transient_answer(long code) {
        return code == 408 || code == 425 || code == 429 ||
               (code >= 500 && code != 501 && code != 505);
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
        if (item->sha256 && !streq(digest, item->sha256)) {
                bool resumed = t->resumed && !t->restarted;

                r = start_over(t);
                if (r < 0)
                        return r;
                if (resumed) { /* what an earlier run left may be to blame */
                        t->restarted = true;
                        t->best = 0;
                        return say(t, 1, "the resumed file had a wrong digest");
                }
                unlink(t->partial);
                return say(t, -EBADMSG, "its sha256 is %s, not %s", digest, item->sha256);
        }
        r = store_add_blob(ctx->store, t->partial, item->sha256, item->result);
        if (r < 0)
                return say(t, r, "cannot store it: %s", strerror(-r));
        item->size = t->size;
        return 0;
}

int transfer_finish(Transfer *t, Context *ctx, CURLcode code) {
        const char *text = t->curl_error[0] ? t->curl_error : curl_easy_strerror(code);
        bool file = startswith(t->item->url, "file:");
        long answer = 0;
        int r;

        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &answer);
        if (t->error < 0)
                return say(t, t->error, "cannot write %s: %s", t->partial, strerror(-t->error));
        if (t->too_long) {
                r = start_over(t);
                return r < 0 ? r
                             : say(t, -EBADMSG,
                                               "it is longer than the %" PRIu64
                                               " bytes it should have",
                                               t->item->size);
        }
        if (t->range_wrong || answer == 416) { /* asked for what the file does not have: the partial
                                                  file is not of it */
                r = answer == 416 && t->item->size > 0 && t->size == t->item->size
                                    ? accept_file(t, ctx)
                                    : 1;
                if (r <= 0)
                        return r;
                r = start_over(t);
                return r < 0 ? r
                             : say(t, 1, "the server did not go on where the download had stopped");
        }
        switch (code) {
        case CURLE_OK:
                return accept_file(t, ctx);
        case CURLE_HTTP_RETURNED_ERROR:
                if (transient_answer(answer))
                        return say(t, 1, "the server answered %ld", answer);
                t->gone = answer == 404 || answer == 410;
                return say(t, -EREMOTEIO, "the server answered %ld%s", answer,
                                t->gone ? " (not there)" : "");
        case CURLE_FILE_COULDNT_READ_FILE:
                t->gone = true;
                return say(t, -EREMOTEIO, "%s",
                                file ? "there is no such file, or it cannot be read" : text);
        default:
                return say(t, transient(code) ? 1 : -EREMOTEIO, "%s", text);
        }
}
