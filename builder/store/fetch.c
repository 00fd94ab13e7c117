/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The loop that keeps several transfers going; transfer.c is one of them. Single-threaded: curl's
 * multi interface does the waiting, together with the pipe that a Ctrl-C writes to. */

#include "store/transfer.h"
#include "store/store.h"
#include "common/apt-host.h"
#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/time-util.h"

#include <sys/random.h>
#include <sys/statvfs.h>

#define TRANSFERS_MAX 8        /* at once */
#define CONNECTIONS_PER_HOST 6 /* as browsers do: mirrors' limits expect it */
#define TRIES_MAX 5
#define BACKOFF_MAX_USEC (30 * USEC_PER_SEC)
#define BUSY_USEC (250 * USEC_PER_MSEC) /* between looks at what another build is downloading */
#define FAILURES_SHOWN 5                /* of one server for one reason */

typedef struct Fetch {
        Context *ctx;
        const char *stage;
        CURLM *multi;
        Transfer *transfers;
        size_t n, n_running, n_finished;
        AptSettings settings;
        char *proxy_host, *proxy; /* the last server asked about, and its proxy */
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
        if (++t->tries >= TRIES_MAX) {
                long answered = code == CURLE_HTTP_RETURNED_ERROR;

                settle(f, t, answered ? -EREMOTEIO : -ENETUNREACH);
                if (!answered && code != CURLE_PARTIAL_FILE && code != CURLE_OK)
                        give_up_server(f, t);
                return;
        }
        uint64_t pause = MAX(pause_for(f, t->tries),
                        MIN((uint64_t) retry_after * USEC_PER_SEC, (uint64_t) BACKOFF_MAX_USEC));
        log_debug("%s: %s; try %u of %d in %.1f s", t->item->what, strempty(t->reason),
                        t->tries + 1, TRIES_MAX, (double) pause / USEC_PER_SEC);
        t->not_before = now_usec() + pause;
        t->state = TRANSFER_WAITING;
}

/* Asked once a server: finding out may take running a program. */
static int find_proxy(Fetch *f, const Transfer *t) {
        char *host, *proxy = NULL;
        int r;

        if (streq_ptr(f->proxy_host, t->host))
                return 0;
        r = apt_settings_proxy(&f->settings, t->host, &proxy);
        if (r < 0)
                return r;
        host = strdup(t->host);
        if (!host) {
                free(proxy);
                return -ENOMEM;
        }
        free(f->proxy_host);
        free(f->proxy);
        f->proxy_host = host;
        f->proxy = proxy;
        return 0;
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
        if (r >= 0)
                r = find_proxy(f, t);
        if (r >= 0)
                r = transfer_start(t, f->proxy);
        if (r >= 0 && curl_multi_add_handle(f->multi, t->easy) != CURLM_OK)
                r = -ENOMEM;
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
        for (size_t i = 0; i < f->n; i++)
                if (f->transfers[i].state != TRANSFER_FAILED)
                        done += f->transfers[i].state == TRANSFER_DONE ? f->transfers[i].item->size
                                                                       : f->transfers[i].size;
        progress_bytes(f->ctx->progress, f->stage, done, f->bytes_total);
}

static int run(Fetch *f) {
        struct curl_waitfd interrupt = { .fd = interrupt_fd(), .events = CURL_WAIT_POLLIN };
        int running, ignored, r;

        while (f->n_finished < f->n && f->stop == 0) {
                uint64_t now = now_usec(), next = now + USEC_PER_SEC;

                for (size_t i = 0; i < f->n && f->n_running < TRANSFERS_MAX; i++) {
                        Transfer *t = f->transfers + i;

                        if (t->state == TRANSFER_WAITING && t->not_before <= now) {
                                r = start(f, t);
                                if (r < 0)
                                        return r;
                        }
                        if (t->state == TRANSFER_WAITING)
                                next = MIN(next, t->not_before);
                }
                if (curl_multi_perform(f->multi, &running) != CURLM_OK)
                        return -EIO;
                for (CURLMsg *m; (m = curl_multi_info_read(f->multi, &ignored));) {
                        Transfer *t = NULL;

                        if (m->msg != CURLMSG_DONE)
                                continue;
                        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
                        on_finished(f, t, m->data.result);
                        next = now;
                }
                show_progress(f);
                if (interrupt_signal())
                        return -ECANCELED;
                int wait_ms = next <= now ? 0 : (int) ((next - now) / 1000 + 1);
                if (f->n_finished < f->n)
                        curl_multi_poll(f->multi, &interrupt, interrupt.fd >= 0 ? 1 : 0, wait_ms,
                                        NULL);
        }
        return f->stop;
}

/* What to do about a failed item, by its result. */
static void log_failure(const Fetch *f, const Transfer *t) {
        const FetchItem *item = t->item;
        const char *reason = isempty(t->reason) ? strerror(-t->result) : t->reason;

        switch (-t->result) {
        case EREMOTEIO:
                if (t->gone && item->update)
                        log_error("%s is gone from its source: %s: %s. Move the lock past it: %s%s%s",
                                        item->what, item->url, reason, item->update,
                                        item->archive ? "; or take it from an archive that keeps old versions: --mirror "
                                                      : "",
                                        strempty(item->archive));
                else if (t->gone)
                        log_error("%s cannot be downloaded: %s: %s. Check the URL", item->what,
                                        item->url, reason);
                else
                        log_error("%s cannot be downloaded: %s: %s. Try again later, or use another source",
                                        item->what, item->url, reason);
                break;
        case EBADMSG:
                log_error("%s is not what was locked: %s: %s. It was changed at its source or on the way; nothing of it was kept.%s%s",
                                item->what, item->url, reason,
                                item->update ? " If its source says the change is meant: " : "",
                                strempty(item->update));
                break;
        case ENETUNREACH:
                log_error("%s cannot be downloaded: %s: %s, %d tries. Check network and proxy, or use --mirror; what came so far is kept for the next run",
                                item->what, item->url, reason, TRIES_MAX);
                break;
        case ENOSPC:
        case EDQUOT: {
                struct statvfs fs = {};

                (void) statvfs(store_path(f->ctx->store), &fs);
                log_error("No space left in the store %s while downloading %s (%llu MB free). Free some with 'imgbuild cache prune', or use --cache on a larger file system",
                                store_path(f->ctx->store), item->what,
                                (unsigned long long) fs.f_bavail * fs.f_frsize / 1000000);
                break;
        }
        default:
                log_error("%s cannot be downloaded: %s: %s", item->what, item->url, reason);
        }
}

/* Each failed item is told, but of one server that is down only the first few. Returns the first
 * one's result. */
static int report(Fetch *f) {
        int first = f->stop;

        if (f->stop < 0) {
                for (size_t i = 0; i < f->n; i++)
                        if (f->transfers[i].result == f->stop) {
                                log_failure(f, f->transfers + i);
                                break;
                        }
                return first;
        }
        for (size_t i = 0; i < f->n; i++) {
                const Transfer *t = f->transfers + i;
                size_t same = 0, later = 0;

                if (t->state != TRANSFER_FAILED)
                        continue;
                if (first == 0)
                        first = t->result;
                if (t->result == -ENETUNREACH || t->gone)
                        for (size_t k = 0; k < f->n; k++) {
                                const Transfer *o = f->transfers + k;

                                if (o->state == TRANSFER_FAILED && o->result == t->result &&
                                                o->gone == t->gone && streq(o->host, t->host))
                                        *(k < i ? &same : &later) += 1;
                        }
                if (same < FAILURES_SHOWN)
                        log_failure(f, t);
                else if (same == FAILURES_SHOWN)
                        log_error("… and %zu more from %s, for the same reason", later, t->host);
        }
        return first;
}

static int fetch_missing(
                Context *ctx, const char *stage, FetchItem **missing, size_t n, uint64_t known) {
        _cleanup_free_ char *folder = NULL;
        Fetch f = {
                .ctx = ctx, .stage = stage, .backoff_usec = backoff_base(), .bytes_known = known
        };
        bool sized = true;
        int r = 0;

        folder = path_join(store_path(ctx->store), "blobs/partial");
        f.transfers = calloc(n, sizeof(*f.transfers));
        if (!folder || !f.transfers) {
                free(f.transfers);
                return log_oom();
        }
        r = mkdir_p(folder, 0755);
        if (r < 0) {
                free(f.transfers);
                return log_error_errno(r, "Cannot write to the store: %s", folder);
        }
        transfer_sweep(folder);
        curl_global_init(CURL_GLOBAL_DEFAULT);
        f.multi = curl_multi_init();
        if (!f.multi)
                r = -ENOMEM;
        for (; r >= 0 && f.n < n; f.n++) {
                r = transfer_init(f.transfers + f.n, ctx, missing[f.n]);
                sized = sized && missing[f.n]->size > 0;
                f.bytes_total += missing[f.n]->size;
        }
        if (r >= 0) {
                f.bytes_total = sized ? f.bytes_total + known : 0;
                curl_multi_setopt(f.multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                                (long) CONNECTIONS_PER_HOST);
                curl_multi_setopt(f.multi, CURLMOPT_MAXCONNECTS, (long) TRANSFERS_MAX);
                if (apt_settings_load(&f.settings) < 0)
                        log_debug("This host has no apt to ask for proxies; the environment's count");
                r = run(&f);
                if (r == 0 || r == f.stop)
                        r = report(&f);
                else if (r != -ECANCELED)
                        log_error_errno(r, "Downloads failed");
        } else
                log_oom();

        for (size_t i = 0; i < f.n; i++) {
                if (f.transfers[i].easy)
                        curl_multi_remove_handle(f.multi, f.transfers[i].easy);
                transfer_done(f.transfers + i);
        }
        free(f.transfers);
        curl_multi_cleanup(f.multi);
        apt_settings_done(&f.settings);
        free(f.proxy_host);
        free(f.proxy);
        return r;
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
                for (size_t i = 0; i < MIN(n, (size_t) FAILURES_SHOWN); i++)
                        log_error("%s is not in the store %s", missing[i]->what,
                                        store_path(ctx->store));
                if (n > FAILURES_SHOWN)
                        log_error("… nor are %zu more", n - FAILURES_SHOWN);
                log_error("With --offline nothing is downloaded: run once without it");
                return -ENETUNREACH;
        }
        return fetch_missing(ctx, stage, missing, n, known);
}
