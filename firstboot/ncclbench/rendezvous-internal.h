/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What rendezvous.c (exchanges) and rendezvous-meet.c (getting together) share. */

#include "ncclbench/rendezvous.h"

#define RENDEZVOUS_ERROR_MAX (4 + 48 + MESSAGE_TEXT_MAX) /* payload of an error message */

struct Rendezvous {
        RendezvousConfig config;
        int listener;
        Connection *peers; /* process 0: one a rank, [0] unused; else only [0], to process 0 */
        RendezvousPeer *roster;
        unsigned refused;
};

static inline bool is_hub(const Rendezvous *r) {
        return r->config.rank == 0;
}

static inline int n_connections(const Rendezvous *r) {
        return is_hub(r) ? r->config.world : 1;
}

/* Process 0 waits for all others, who connect to it; each proves that it knows the secret. */
int rendezvous_meet(Rendezvous *r, uint64_t deadline, Failure *f);
