/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kernel log, read on from where the last look ended. */

#include "daemon/conditions.h"
#include "contract/kernel-log.h"

#define WATCH_WINDOW_USEC (10 * 60 * USEC_PER_SEC) /* events are counted within it */
#define WATCH_EVENTS 64                            /* the last of each kind, their times */

/* Times of the last events of a kind, a ring. */
typedef struct WatchEvents {
        uint64_t usec[WATCH_EVENTS];
        unsigned n; /* all that were counted */
        char text[200];
} WatchEvents;

typedef struct WatchKernel {
        int fd;     /* of /dev/kmsg; -EBADF: not open (yet) */
        char *rest; /* the beginning of a line */
        size_t n_rest;
        uint64_t from_usec; /* what is older is not counted */
        uint64_t look_usec; /* of the last look; 0: the log was not read yet */
        bool lost;          /* messages were overwritten before we read them */
        bool untold;        /* that the log cannot be read was not said yet */
        WatchEvents events[_KERNEL_EVENT_KINDS];
        unsigned storm; /* corrected errors within the window: too many to keep times of */
        uint64_t storm_usec;
} WatchKernel;

void watch_kernel_init(WatchKernel *k, uint64_t from_usec);
void watch_kernel_done(WatchKernel *k);

/* Takes one line. True where it is a reason to look at the node. */
bool watch_kernel_line(WatchKernel *k, const char *line);

/* Reads what is new, and sets the conditions. True where something is a reason to look. */
bool watch_kernel_look(WatchKernel *k, Conditions *l, uint64_t now);

/* Counts one event that was seen elsewhere: a link of which a counter says that it went down. */
void watch_events_add(WatchEvents *e, uint64_t usec, const char *text);
unsigned watch_events_count(const WatchEvents *e, uint64_t now);
