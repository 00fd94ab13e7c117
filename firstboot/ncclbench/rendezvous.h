/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The processes of one run find each other and exchange small things: the NCCL id, times, counts
 * of wrong elements, failures. A star around process 0; no MPI. */

#include "ncclbench/connection.h"
#include "ncclbench/reason.h"

typedef struct Rendezvous Rendezvous;

typedef struct RendezvousConfig {
        int rank, world;         /* of processes */
        const char *host, *port; /* where process 0 listens */
        const char *name;        /* of this host, for messages and tables */
        MessageKey secret;
} RendezvousConfig;

typedef struct RendezvousPeer {
        char name[64];
        char address[48]; /* numeric, as the others reach it */
} RendezvousPeer;

/* Returns when all processes are there, or -EIO with the Failure set. */
int rendezvous_join(
                const RendezvousConfig *config, uint64_t deadline, Rendezvous **ret, Failure *f);

Rendezvous *rendezvous_free(Rendezvous *r);
DEFINE_CLEANUP(Rendezvous *, rendezvous_free);
#define _cleanup_rendezvous_ _cleanup_(rendezvous_freep)

const RendezvousPeer *rendezvous_peer(const Rendezvous *r, int rank);

/* Everybody gives `size` bytes and gets those of all, in the order of ranks (world × size bytes).
 * With present == NULL a process that is gone or failed is our failure too; else it is marked
 * false there and the others go on. Works with r == NULL for a world of one. */
int rendezvous_exchange(Rendezvous *r, const void *mine, size_t size, void *all, bool *present,
                uint64_t deadline, Failure *f);

/* The same for process 0 alone: only its `all` is filled. Costs the others no more than their own
 * piece, however many they are. */
int rendezvous_gather(Rendezvous *r, const void *mine, size_t size, void *all, uint64_t deadline,
                Failure *f);

/* Everybody gets what process 0 has, and nobody before all are here: with size 0 a barrier. */
int rendezvous_broadcast(Rendezvous *r, void *data, size_t size, uint64_t deadline, Failure *f);

/* Whether somebody failed meanwhile; looks only, does not wait. 0 or -EIO with the Failure set. */
int rendezvous_look(Rendezvous *r, Failure *f);

/* Tells the others why we stop. */
void rendezvous_fail(Rendezvous *r, const Failure *f);
