/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a port's hardware counts, asked over netlink as rdma-statistic(8) does: one answer instead
 * of dozens of files below hw_counters, each of which the kernel would open, print and close.
 * Source: the kernel's RDMA_NLDEV_CMD_STAT_GET; kernels before 5.3, and drivers whose answer is
 * larger than a message, have the files alone. */

#include "shared/macro.h"

typedef struct Statistic {
        const char *name; /* the file's below hw_counters */
        uint64_t value;
} Statistic;

typedef struct StatisticsDevice {
        char *name;
        uint32_t index;
} StatisticsDevice;

typedef struct Statistics {
        int fd; /* none once a question was not answered as it should be */
        uint32_t sequence;
        StatisticsDevice *devices;
        size_t n_devices;
        Statistic *items;
        size_t n, room;
        void *buffer;
} Statistics;

/* Opens a socket in the network namespace that the process is in, and lists the devices there.
 * Returns 0 or negative errno, with nothing to be freed. */
int statistics_open(Statistics *ret);

/* The same over a socket that is open already and has one message after the other, at whose other
 * end somebody answers as the kernel does. Takes fd over, on failure too. */
int statistics_open_fd(int fd, Statistics *ret);

void statistics_done(Statistics *s);

/* The counters of a port, in the kernel's order; *ret is valid until the next call. Returns 0,
 * -ENODEV where there is no such device, -ENOTCONN after an answer that was none, -EBADMSG for such
 * an answer, or what the kernel said. */
int statistics_of_port(Statistics *s, const char *device, uint32_t port, const Statistic **ret,
                size_t *ret_n);
