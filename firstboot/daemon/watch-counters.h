/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Error counters of RDMA ports and network links, as differences from look to look. A child reads
 * them: the driver of a sick adapter keeps whoever asks waiting for a minute. */

#include "daemon/watch-kernel.h"
#include "shared/json-util.h"

#include <systemd/sd-event.h>

typedef struct WatchCounter {
        char *name; /* "mlx5_0 port 1 symbol_error" */
        uint64_t value;
        uint64_t seen_usec;
        /* Where each growth is an event: the times, so many of which are a finding, and its
         * code. */
        WatchEvents *events;
        unsigned limit;
        const char *code;
} WatchCounter;

typedef struct WatchCounters {
        WatchCounter *items;
        size_t n;

        sd_event_source *reader; /* a child that reads them; NULL: none is waited for */
        int fd;                  /* what it prints */
        char *text;
        size_t size;
        uint64_t started_usec, due_usec;
} WatchCounters;

void watch_counters_done(WatchCounters *w);

/* Takes what the child has read, sets the conditions for what has grown since the look before, and
 * sends the next child once `every` is over. The first look only reads. The event loop, for which
 * SIGCHLD is blocked, reaps the child, whenever its end may be. */
void watch_counters_look(WatchCounters *w, sd_event *event, Conditions *l, uint64_t every_usec,
                uint64_t now);

/* The GPUs' counters, as the figures of the gpu step have them. */
void watch_counters_gpus(WatchCounters *w, json_object *gpus, uint64_t now);

/* One line of the child's: a letter, the growth a minute that is let pass, the value, and the
 * name. */
void watch_counters_line(WatchCounters *w, Conditions *l, const char *line, uint64_t now);
