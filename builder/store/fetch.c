/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The loop that keeps several transfers going; transfer.c is one of them, transfer-report.c tells
 * what became of them. Single-threaded: curl's multi interface does the waiting, together with the
 * pipe that a Ctrl-C writes to. */

#include "store/remote.h"
#include "store/transfer.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/size.h"
#include "shared/spawn.h"
#include "shared/time-util.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define TRANSFERS_MAX 8        /* at once */
#define CONNECTIONS_PER_HOST 6 /* as browsers do: mirrors' limits expect it */
#define BACKOFF_MAX_USEC (30 * USEC_PER_SEC)
#define BUSY_USEC (250 * USEC_PER_MSEC) /* between looks at what another build is downloading */

typedef struct Fetch {
        Context *ctx;
        const char *stage;
        CURLM *multi;
        Transfer *transfers;
        size_t n, n_running, n_finished;
        HttpHosts hosts;
        uint64_t backoff_usec;
        uint64_t bytes_total, bytes_known; /* total is 0 where a size is unknown */
        int stop;                          /* an error that ends everything: full disk, interrupt */
} Fetch;

static uint64_t backoff_base(void) {
        const char *s = getenv("IMGBUILD_FETCH_BACKOFF_MS");
        long n = s ? strtol(s, NULL, 10) : 0;

        return (n > 0 ? (uint64_t) n : 500) * USEC_PER_MSEC;
}

/* base × 2^(tries-1), times 0.5 to 1.5: machines that failed together shall not come back
 * together. */
static uint64_t pause_for(const Fetch *f, unsigned tries) {
        uint64_t usec = MIN(f->backoff_usec << MIN(tries - 1, 16u), (uint64_t) BACKOFF_MAX_USEC);
        uint16_t random = 0;

        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
                random = 0x8000;
        return usec / 2 + usec * random / 0xffff;
}

static void settle(Fetch *f, Transfer *t, int result) {
        t->state = result < 0 ? TRANSFER_FAILED : TRANSFER_DONE;
        t->result = result;
        f->n_finished++;
        if (result < 0)
                transfer_abandon(t);
        transfer_close(t);
        if (result == -ENOSPC || result == -EDQUOT || result == -EROFS || result == -ENOMEM)
                f->stop = result;
}

static int set_reason(Transfer *t, const char *text) {
        free(t->reason);
        t->reason = strdup(text);
        return t->reason ? 0 : -ENOMEM;
}

/* When a server gave up one item for good, the others need not each wait as long for the same. */
static void give_up_server(Fetch *f, const Transfer *dead) {
        for (size_t i = 0; i < f->n; i++) {
                Transfer *t = f->transfers + i;

                if (t->state != TRANSFER_WAITING || !streq(t->host, dead->host))
                        continue;
                if (set_reason(t, strempty(dead->reason)) < 0)
                        f->stop = -ENOMEM;
                settle(f, t, -ENETUNREACH);
        }
}

static void on_finished(Fetch *f, Transfer *t, CURLcode code) {
        curl_off_t retry_after = 0;
        int r;

        curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &retry_after);
        curl_multi_remove_handle(f->multi, t->easy);
        f->n_running--;
        r = transfer_finish(t, f->ctx, code);
        curl_easy_cleanup(t->easy);
        t->easy = NULL;
        if (r <= 0) {
                settle(f, t, r);
                return;
        }
        if (t->size > t->best) {
                t->best = t->size;
                t->tries = 0;
        }
        if (++t->tries >= transfer_tries(t)) {
                long answered = code == CURLE_HTTP_RETURNED_ERROR;

                settle(f, t, answered ? -EREMOTEIO : -ENETUNREACH);
                if (!answered && code != CURLE_PARTIAL_FILE && code != CURLE_OK)
                        give_up_server(f, t);
                return;
        }
        uint64_t pause = MAX(pause_for(f, t->tries),
                        MIN((uint64_t) retry_after * USEC_PER_SEC, (uint64_t) BACKOFF_MAX_USEC));
        log_debug("%s: %s; try %u of %u in %.1f s", t->item->what, strempty(t->reason),
                        t->tries + 1, transfer_tries(t), (double) pause / USEC_PER_SEC);
        t->not_before = now_usec() + pause;
        t->state = TRANSFER_WAITING;
}

static int add_handle(Fetch *f, Transfer *t) {
        HttpHost host;
        int r;

        r = http_hosts_find(&f->hosts, t->item->url, &host);
        if (r < 0)
                return r;
        host.s3 = t->item->s3;
        r = transfer_start(t, &host);
        if (r < 0)
                return r;
        return curl_multi_add_handle(f->multi, t->easy) == CURLM_OK ? 0 : -ENOMEM;
}

static int start(Fetch *f, Transfer *t) {
        int r;

        r = transfer_open(t, f->ctx);
        if (r == -EAGAIN) {
                t->not_before = now_usec() + BUSY_USEC;
                return 0;
        }
        if (r > 0) {
                settle(f, t, 0);
                return 0;
        }
        if (r == 0)
                r = add_handle(f, t);
        if (r < 0) {
                settle(f, t, r);
                return set_reason(t, strerror(-r));
        }

        t->state = TRANSFER_RUNNING;
        f->n_running++;
        return 0;
}

static void show_progress(const Fetch *f) {
        uint64_t done = f->bytes_known;

        if (!f->stage)
                return;
        for (size_t i = 0; i < f->n; i++) {
                const Transfer *t = f->transfers + i;

                if (t->state == TRANSFER_FAILED)
                        continue;
                done += t->state == TRANSFER_DONE ? t->item->size : t->size;
        }
        progress_bytes(f->ctx->progress, f->stage, done, f->bytes_total);
}

static size_t transfers_max(const Context *ctx) {
        return ctx->downloads ? MIN(ctx->downloads, (unsigned) TRANSFERS_MAX) : TRANSFERS_MAX;
}

/* Starts what may start now. *next becomes no later than the end of the shortest pause. */
static int start_some(Fetch *f, uint64_t now, uint64_t *next) {
        const size_t max = transfers_max(f->ctx);

        for (size_t i = 0; i < f->n && f->n_running < max; i++) {
                Transfer *t = f->transfers + i;

                if (t->state == TRANSFER_WAITING && t->not_before <= now) {
                        int r = start(f, t);

                        if (r < 0)
                                return r;
                }
                if (t->state == TRANSFER_WAITING)
                        *next = MIN(*next, t->not_before);
        }
        return 0;
}

/* Returns whether any ended. */
static bool take_finished(Fetch *f) {
        bool any = false;
        int ignored;

        for (CURLMsg *m; (m = curl_multi_info_read(f->multi, &ignored));) {
                Transfer *t = NULL;

                if (m->msg != CURLMSG_DONE)
                        continue;
                curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
                on_finished(f, t, m->data.result);
                any = true;
        }
        return any;
}

static int run(Fetch *f) {
        struct curl_waitfd interrupt = { .fd = interrupt_fd(), .events = CURL_WAIT_POLLIN };

        while (f->n_finished < f->n && f->stop == 0) {
                uint64_t now = now_usec(), next = now + USEC_PER_SEC;
                int running, wait_ms, r;

                r = start_some(f, now, &next);
                if (r < 0)
                        return r;
                if (curl_multi_perform(f->multi, &running) != CURLM_OK)
                        return -EIO;
                if (take_finished(f))
                        next = now;

                show_progress(f);
                if (interrupt_signal())
                        return -ECANCELED;
                wait_ms = next <= now ? 0 : (int) ((next - now) / 1000 + 1);
                if (f->n_finished < f->n)
                        curl_multi_poll(f->multi, &interrupt, interrupt.fd >= 0 ? 1 : 0, wait_ms,
                                        NULL);
        }
        return f->stop;
}

/* Prepares one transfer an item. */
static int fetch_init(Fetch *f, FetchItem **missing, size_t n, uint64_t known) {
        bool sized = true;

        f->transfers = calloc(n, sizeof(*f->transfers));
        f->multi = curl_multi_init();
        if (!f->transfers || !f->multi)
                return -ENOMEM;
        for (; f->n < n; f->n++) {
                int r = transfer_init(f->transfers + f->n, f->ctx, missing[f->n]);

                if (r < 0) {
                        transfer_done(f->transfers + f->n);
                        return r;
                }
                sized = sized && missing[f->n]->size > 0;
                f->bytes_total += missing[f->n]->size;
        }
        f->bytes_total = sized ? f->bytes_total + known : 0;

        curl_multi_setopt(f->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long) CONNECTIONS_PER_HOST);
        curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS, (long) TRANSFERS_MAX);
        return 0;
}

/* Hours of downloads shall not end with a full disk where that is known beforehand. */
static int check_room(const Fetch *f) {
        const char *store = store_path(f->ctx->store);
        uint64_t wanted = 0, room;
        char size[FORMAT_BYTES_MAX], there[FORMAT_BYTES_MAX];
        struct statvfs fs;
        struct stat st;

        for (size_t i = 0; i < f->n; i++) {
                const Transfer *t = f->transfers + i;
                uint64_t came = stat(t->partial, &st) < 0 ? 0 : (uint64_t) st.st_size;

                if (!t->item->optional) /* whose caller knows another way */
                        wanted += t->item->size - MIN(t->item->size, came);
        }
        if (statvfs(store, &fs) < 0)
                return -errno;
        room = (uint64_t) fs.f_bavail * fs.f_frsize;
        if (wanted <= room)
                return 0;
        log_error("The downloads have %s more, and the store %s has %s free. Free some with 'imgbuild cache prune', or use --cache on a larger file system",
                        format_bytes(size, wanted), store, format_bytes(there, room));
        return -ENOSPC;
}

static void fetch_done(Fetch *f) {
        for (size_t i = 0; i < f->n; i++) {
                if (f->transfers[i].easy)
                        curl_multi_remove_handle(f->multi, f->transfers[i].easy);
                transfer_done(f->transfers + i);
        }
        free(f->transfers);
        curl_multi_cleanup(f->multi);
        http_hosts_done(&f->hosts);
}

static int fetch_missing(
                Context *ctx, const char *stage, FetchItem **missing, size_t n, uint64_t known);

static bool may_be_remote(const Transfer *t) {
        return t->state == TRANSFER_FAILED && t->item->sha256 && !t->item->optional;
}

/* What its source has no more, or cannot give now, somebody may have pushed: its digest says that
 * it is the same. */
static int ask_remote(Fetch *f) {
        _cleanup_free_ FetchItem *items = calloc(f->n + 1, sizeof(*items));
        _cleanup_free_ FetchItem **wanted = calloc(f->n + 1, sizeof(*wanted));
        Context ctx = *f->ctx;
        size_t n = 0, came = 0;
        int r = 0;

        if (!items || !wanted)
                return -ENOMEM;
        for (size_t i = 0; remote_is_usable(ctx.remote) && i < f->n; i++) {
                if (!may_be_remote(f->transfers + i))
                        continue;
                items[n] = *f->transfers[i].item;
                items[n].optional = true;
                items[n].s3 = remote_s3(ctx.remote);
                items[n].url = remote_blob_url(ctx.remote, items[n].sha256);
                r = items[n].url ? r : -ENOMEM;
                wanted[n] = items + n;
                n++;
        }
        ctx.remote = NULL; /* asked once */
        if (n > 0 && r == 0)
                r = fetch_missing(&ctx, f->stage, wanted, n, 0);
        for (size_t i = 0; i < n; i++) {
                free((char *) items[i].url);
                free(items[i].why);
        }
        if (r == -ENOMEM || r == -ECANCELED)
                return r;
        for (size_t i = 0; n > 0 && i < f->n; i++) {
                Transfer *t = f->transfers + i;

                if (!may_be_remote(t) || !store_has_blob(ctx.store, t->item->sha256))
                        continue;
                t->state = TRANSFER_DONE;
                t->result = 0;
                came++;
        }
        if (came > 0)
                log_info("%zu downloads came from %s, which their own sources did not give", came,
                                remote_url(f->ctx->remote));
        return 0;
}

static int fetch_missing(
                Context *ctx, const char *stage, FetchItem **missing, size_t n, uint64_t known) {
        _cleanup_free_ char *folder = path_join(store_path(ctx->store), "blobs/partial");
        _cleanup_(fetch_done) Fetch f = {
                .ctx = ctx, .stage = stage, .backoff_usec = backoff_base(), .bytes_known = known
        };
        int r;

        if (!folder)
                return log_oom();
        r = mkdir_p(folder, 0755);
        if (r < 0)
                return log_error_errno(r, "Cannot write to the store: %s", folder);
        transfer_sweep(folder);

        http_hosts_load(&f.hosts);
        r = fetch_init(&f, missing, n, known);
        if (r < 0)
                return log_oom();
        r = check_room(&f);
        if (r < 0)
                return r;
        r = run(&f);
        if (r == -ECANCELED)
                return r;
        if (r < 0 && r != f.stop)
                return log_error_errno(r, "Downloads failed");
        r = f.stop == 0 ? ask_remote(&f) : 0;
        if (r < 0)
                return r == -ENOMEM ? log_oom() : r;
        for (size_t i = 0; i < f.n; i++)
                if (f.transfers[i].item->optional && f.transfers[i].result < 0)
                        f.transfers[i].item->why = TAKE_PTR(f.transfers[i].reason);
        return transfers_report(ctx, f.transfers, f.n, f.stop);
}

int fetch_all(Context *ctx, const char *stage, FetchItem *items, size_t n_items) {
        _cleanup_free_ FetchItem **missing = calloc(n_items + 1, sizeof(*missing));
        uint64_t known = 0;
        size_t n = 0;

        if (!missing)
                return log_oom();
        for (size_t i = 0; i < n_items; i++)
                if (!items[i].sha256 || !store_has_blob(ctx->store, items[i].sha256))
                        missing[n++] = items + i;
                else
                        known += items[i].size;
        if (n == 0)
                return 0;

        if (ctx->offline) {
                transfers_report_offline(ctx, missing, n);
                return -ENETUNREACH;
        }
        return fetch_missing(ctx, stage, missing, n, known);
}
