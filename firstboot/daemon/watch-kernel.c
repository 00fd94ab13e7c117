/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Read at each look and not line by line as they come: a log that is busy does not wake us. */

#include "daemon/watch-kernel.h"
#include "contract/paths.h"
#include "shared/log.h"

#include <fcntl.h>

#define BUFFER_SIZE 16384 /* a record is at most 8 KiB */
#define READS_MAX 20000   /* in one look: the whole ring buffer and more */

void watch_kernel_init(WatchKernel *k, uint64_t from_usec) {
        watch_kernel_done(k);
        *k = (WatchKernel) { .fd = -EBADF, .from_usec = from_usec, .untold = true };
}

void watch_kernel_done(WatchKernel *k) {
        k->fd = safe_close(k->fd);
        free(TAKE_PTR(k->rest));
}

void watch_events_add(WatchEvents *e, uint64_t usec, const char *text) {
        e->usec[e->n % WATCH_EVENTS] = usec;
        e->n++;
        snprintf(e->text, sizeof(e->text), "%s", text);
}

unsigned watch_events_count(const WatchEvents *e, uint64_t now) {
        unsigned n = 0;

        for (unsigned i = 0; i < MIN(e->n, (unsigned) WATCH_EVENTS); i++)
                n += e->usec[i] + WATCH_WINDOW_USEC > now;
        return n;
}

/* Corrected errors are counted for a window at a time. */
static void add_to_storm(WatchKernel *k, uint64_t usec) {
        if (usec > k->storm_usec + WATCH_WINDOW_USEC) {
                k->storm_usec = usec;
                k->storm = 0;
        }
        k->storm++;
}

bool watch_kernel_line(WatchKernel *k, const char *line) {
        KernelEventKind kind;
        KernelRecord r;

        if (!kernel_record_parse(line, &r) || !kernel_event_of(r.message, &kind))
                return false;
        if (k->look_usec > 0)
                r.usec = k->look_usec;
        else if (r.usec < k->from_usec)
                return false;
        if (kind == KERNEL_AER_CORRECTED)
                add_to_storm(k, r.usec);
        watch_events_add(&k->events[kind], r.usec, r.message);
        return kind != KERNEL_AER_CORRECTED;
}

/* Takes the whole lines; what is left of one is kept. */
static bool take(WatchKernel *k, char *buffer, size_t n) {
        char *line = buffer, *newline;
        bool any = false;

        while ((newline = memchr(line, '\n', n - (size_t) (line - buffer)))) {
                *newline = '\0';
                any = watch_kernel_line(k, line) || any;
                line = newline + 1;
        }
        n -= (size_t) (line - buffer);
        if (n == BUFFER_SIZE) /* no record is that long */
                n = 0;
        memmove(buffer, line, n);
        k->n_rest = n;
        return any;
}

static int open_log(WatchKernel *k) {
        _cleanup_free_ char *path = fb_path("/dev/kmsg");

        if (k->fd >= 0)
                return 0;
        if (!k->rest)
                k->rest = malloc(BUFFER_SIZE);
        if (!path || !k->rest)
                return -ENOMEM;
        k->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        return k->fd < 0 ? -errno : 0;
}

static bool read_log(WatchKernel *k) {
        bool any = false;

        for (unsigned i = 0; i < READS_MAX; i++) {
                ssize_t n = read(k->fd, k->rest + k->n_rest, BUFFER_SIZE - k->n_rest);

                if (n > 0) {
                        any = take(k, k->rest, k->n_rest + (size_t) n) || any;
                        continue;
                }
                if (n < 0 && errno == EINTR)
                        continue;
                /* Overwritten before we read it: nobody knows what it said. */
                if (n < 0 && errno == EPIPE) {
                        k->n_rest = 0;
                        any = true;
                        continue;
                }
                break;
        }
        return any;
}

static void judge(WatchKernel *k, Conditions *l, uint64_t now) {
        for (size_t i = 0; i < _KERNEL_EVENT_KINDS; i++) {
                const KernelEventInfo *info = &kernel_event_info[i];
                unsigned n = watch_events_count(&k->events[i], now);
                char key[64];

                if (info->limit == 0)
                        continue;
                if (i == KERNEL_AER_CORRECTED)
                        n = k->storm_usec + WATCH_WINDOW_USEC > now ? k->storm : 0;
                snprintf(key, sizeof(key), "kernel:%s", info->name);
                if (n < info->limit)
                        conditions_clear(l, key);
                else
                        (void) conditions_set(l, key, info->code, now, "%u times in 10 min: %s", n,
                                        k->events[i].text);
        }
}

bool watch_kernel_look(WatchKernel *k, Conditions *l, uint64_t now) {
        int r = open_log(k);
        bool any = false;

        /* What is new since the last look happened since; the log's own clock is not NTP's, and in
         * a month or two minutes off ours. */
        if (k->look_usec > 0)
                k->look_usec = now;
        if (r >= 0) {
                any = read_log(k);
                k->look_usec = now;
        } else if (k->untold) {
                log_warning_errno(r,
                                "The kernel log cannot be watched, so a GPU's Xid or a disk's error shows in a check alone; is /dev/kmsg readable?");
                k->untold = false;
        }
        judge(k, l, now);
        return any;
}
