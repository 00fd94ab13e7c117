/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One item's way into the store, inside fetch.c: its partial file, its tries, what its server
 * said, what is told about it. */

#include "store/fetch.h"
#include "store/http.h"

#define TRIES_MAX 5          /* without progress */
#define TRIES_MAX_OPTIONAL 2 /* of what can be made instead */

typedef enum TransferState {
        TRANSFER_WAITING,
        TRANSFER_RUNNING,
        TRANSFER_DONE,
        TRANSFER_FAILED
} TransferState;

typedef struct Transfer {
        FetchItem *item;
        TransferState state;
        uint64_t not_before; /* µs, monotonic: end of the pause before the next try */
        unsigned tries;      /* without progress */
        CURL *easy;          /* while RUNNING */
        struct curl_slist *headers;

        /* blobs/partial/…; locked while open, so that two builds do not write one file. */
        char *partial;
        int fd;

        uint64_t size;   /* bytes the partial file has */
        uint64_t best;   /* most it ever had: a try that got further was none in vain */
        bool resumed;    /* some of it was not received in this try */
        bool restarted;  /* once already: the digest of the resumed file was wrong */
        char *validator; /* ETag or date of what came: bytes of two versions must not be mixed */

        bool body;        /* the first byte of this try's body has come */
        bool range_wrong; /* the server answered another range than asked for */
        bool too_long;
        bool withheld; /* a login: HttpHost */
        bool gone;     /* the server says that there is no such file */
        int error;     /* negative errno of writing the file */
        char curl_error[CURL_ERROR_SIZE];
        uint64_t range_start;

        int result;   /* of a FAILED one */
        char *reason; /* what to tell about it */
        char *host;   /* scheme, host and port: failed ones are told together */
} Transfer;

/* Removes partial files that nobody went on with for a week: whatever wanted them has moved on. */
void transfer_sweep(const char *folder);

int transfer_init(Transfer *t, Context *ctx, FetchItem *item);
void transfer_done(Transfer *t);

/* Opens and locks the partial file. 0; 1: the blob is there by now; -EAGAIN: another build is at
 * it. */
int transfer_open(Transfer *t, Context *ctx);
void transfer_close(Transfer *t);

/* Of one that failed, before it is closed: what came stays where the next run may go on with it. */
void transfer_abandon(Transfer *t);

/* Forgets what came so far. */
int transfer_start_over(Transfer *t);

static inline unsigned transfer_tries(const Transfer *t) {
        return t->item->optional ? TRIES_MAX_OPTIONAL : TRIES_MAX;
}

/* Bytes; 0: no matter how many. */
static inline uint64_t transfer_max(const Transfer *t) {
        return t->item->size > 0 ? t->item->size : t->item->max;
}

/* Makes t->easy, ready for curl_multi_add_handle(). */
int transfer_start(Transfer *t, const HttpHost *host);

/* What came of a try. 0: the file is in the store; 1: worth another try (t->reason says why);
 * negative: final. */
int transfer_finish(Transfer *t, Context *ctx, CURLcode code);

/* Tells about every failed item, optional ones aside, but of one server that is down only about the
 * first few; where `stop` (an error that ended everything) is not 0, about that alone. Returns the
 * first one's result. */
int transfers_report(Context *ctx, const Transfer *transfers, size_t n, int stop);
void transfers_report_offline(Context *ctx, FetchItem *const *missing, size_t n);
