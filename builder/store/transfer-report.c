/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is told about downloads that failed: each item's message says what to do next. */

#include "store/transfer.h"
#include "store/store.h"
#include "shared/size.h"

#include <sys/statvfs.h>

#define FAILURES_SHOWN 5 /* of one server for one reason */

static void log_refused(const Transfer *t, const char *reason) {
        const FetchItem *item = t->item;

        if (t->gone && item->file)
                log_error("%s is not at %s: %s. Correct its URL (and version) in %s", item->what,
                                item->url, reason, item->file);
        else if (t->gone && item->update)
                log_error("%s is gone from its source: %s: %s. Move the lock past it: %s%s%s",
                                item->what, item->url, reason, item->update,
                                item->archive ? "; or take it from an archive that keeps old versions: --mirror "
                                              : "",
                                strempty(item->archive));
        else if (t->gone)
                log_error("%s cannot be downloaded: %s: %s. Check the URL", item->what, item->url,
                                reason);
        else
                log_error("%s cannot be downloaded: %s: %s. Try again later, or use another source",
                                item->what, item->url, reason);
}

static void log_full_disk(Context *ctx, const Transfer *t) {
        const char *store = store_path(ctx->store);
        char there[FORMAT_BYTES_MAX];
        struct statvfs fs = {};

        (void) statvfs(store, &fs);
        log_error("No space left in the store %s while downloading %s (%s free). Free some with 'imgbuild cache prune', or use --cache on a larger file system",
                        store, t->item->what,
                        format_bytes(there, (uint64_t) fs.f_bavail * fs.f_frsize));
}

/* What to do about a failed item, by its result. */
static void log_failure(Context *ctx, const Transfer *t) {
        const FetchItem *item = t->item;
        const char *reason = isempty(t->reason) ? strerror(-t->result) : t->reason;

        switch (-t->result) {
        case EREMOTEIO:
                log_refused(t, reason);
                break;
        case EBADMSG:
                log_error("%s is not what was locked: %s: %s. It was changed at its source or on the way; nothing of it was kept.%s%s",
                                item->what, item->url, reason,
                                item->update ? " If its source says the change is meant: " : "",
                                strempty(item->update));
                break;
        case ENETUNREACH:
                log_error("%s cannot be downloaded: %s: %s, %d tries. Check network and proxy, or %s%s; what came so far is kept for the next run",
                                item->what, item->url, reason, TRIES_MAX,
                                item->file ? "correct its url in " : "use --mirror",
                                strempty(item->file));
                break;
        case ENOSPC:
        case EDQUOT:
                log_full_disk(ctx, t);
                break;
        default:
                log_error("%s cannot be downloaded: %s: %s", item->what, item->url, reason);
        }
}

/* One that ended everything: only the first is told. */
static int report_stop(Context *ctx, const Transfer *transfers, size_t n, int stop) {
        for (size_t i = 0; i < n; i++)
                if (transfers[i].result == stop) {
                        if (!transfers[i].item->optional)
                                log_failure(ctx, transfers + i);
                        break;
                }
        return stop;
}

/* Whether both failed for one reason that is the server's, not the item's. */
static bool fails_alike(const Transfer *a, const Transfer *b) {
        if (a->result != -ENETUNREACH && !a->gone)
                return false;
        return b->state == TRANSFER_FAILED && a->result == b->result && a->gone == b->gone &&
               streq(a->host, b->host);
}

static void report_failed(Context *ctx, const Transfer *transfers, size_t n, size_t i) {
        const Transfer *t = transfers + i;
        size_t before = 0, later = 0;

        for (size_t k = 0; k < n; k++)
                if (fails_alike(t, transfers + k))
                        *(k < i ? &before : &later) += 1;
        if (before < FAILURES_SHOWN)
                log_failure(ctx, t);
        else if (before == FAILURES_SHOWN)
                log_error("… and %zu more from %s, for the same reason", later, t->host);
}

int transfers_report(Context *ctx, const Transfer *transfers, size_t n, int stop) {
        int first = 0;

        if (stop < 0)
                return report_stop(ctx, transfers, n, stop);
        for (size_t i = 0; i < n; i++) {
                if (transfers[i].state != TRANSFER_FAILED)
                        continue;
                if (first == 0)
                        first = transfers[i].result;
                if (!transfers[i].item->optional)
                        report_failed(ctx, transfers, n, i);
        }
        return first;
}

void transfers_report_offline(Context *ctx, FetchItem *const *missing, size_t n) {
        for (size_t i = 0; i < MIN(n, (size_t) FAILURES_SHOWN); i++)
                log_error("%s is not in the store %s", missing[i]->what, store_path(ctx->store));
        if (n > FAILURES_SHOWN)
                log_error("… nor are %zu more", n - FAILURES_SHOWN);
        log_error("With --offline nothing is downloaded: run once without it");
}
