/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A test program's two halves, both on this machine: a server that listens on TCP, a client that
 * calls it. */

#include "shared/strv.h"

typedef struct RdmaPair {
        char *const *server, *const *client; /* their arguments, a program's path first */
        char *const *env;                    /* settings beside our own environment */
        const char *cpus;                    /* where both run: "0-15,32-47"; NULL: anywhere */
        unsigned tcp_port;                   /* that the server listens on */
        uint64_t timeout_usec;               /* for both together */
} RdmaPair;

/* A TCP port that nobody uses now; 0: none is to be had. */
unsigned rdma_pair_port(void);

/* The client is called once the server listens. *ret_output has what the client said and the
 * server's complaints; *ret_status 0 where both ended with 0. -ETIMEDOUT, or another negative errno
 * where they could not be run; however it ends, both are gone. */
int rdma_pair_run(const RdmaPair *p, char **ret_output, int *ret_status);
