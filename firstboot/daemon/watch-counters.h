/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Error counters of RDMA ports and network links, as differences from look to look. */

#include "daemon/watch-kernel.h"

typedef struct WatchCounter {
        char *name; /* "mlx5_0 port 1 symbol_error" */
        uint64_t value;
        uint64_t seen_usec;
        WatchEvents *downs; /* of a link: the times it went down; NULL: another counter */
} WatchCounter;

typedef struct WatchCounters {
        WatchCounter *items;
        size_t n;
} WatchCounters;

void watch_counters_done(WatchCounters *w);

/* Reads them all, and sets the conditions for what has grown since the last look. The first look only
 * reads. */
void watch_counters_look(WatchCounters *w, Conditions *l, uint64_t now);
