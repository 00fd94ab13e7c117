/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A fleet that boots, in virtual time: the agents' pauses come from the agent's own retry code and
 * the shipped step files, the servers are models. All times are in µs since all nodes were powered
 * on, in the same moment. */

#include "contract/retry.h"
#include "contract/step-file.h"

enum {
        SERVER_METADATA,
        SERVER_NFS,
        SERVER_SLURM,
        SERVER_LDAP, /* the first of three */
        N_SERVERS = SERVER_LDAP + 3,
};

/* A server that answers one request after the other. */
typedef struct Server {
        const char *name;
        double rate;       /* requests a second */
        unsigned backlog;  /* so many may wait; what comes on top of it gets no answer */
        uint64_t timeout;  /* after which who asks gives up */
        uint64_t free_at;  /* when all that waits is answered */
        unsigned *seconds; /* requests that came, answered or not, by second */
} Server;

/* What a node does by asking a server. */
enum { TASK_METADATA, TASK_MOUNTS, TASK_IDENTITY, TASK_SLURM, N_TASKS };

typedef struct Fleet {
        unsigned nodes;
        bool same_seed;    /* jitter taken out: every node believes to be the same one */
        uint64_t from, to; /* the outage of all servers */
        uint64_t until;    /* the simulation's end */
        RetryPlan plans[N_TASKS];
        uint64_t give_up[N_TASKS];
        Server servers[N_SERVERS];

        uint64_t *ready; /* when each node was; 0: never */
        uint64_t last;   /* when the last one was */
        size_t events;
} Fleet;

/* Runs it. The caller frees ready and each server's seconds. 0 or -ENOMEM. */
int fleet_run(Fleet *f);

/* What node_seed() is on that node. */
uint64_t fleet_seed(const Fleet *f, unsigned node);

/* Requests in the seconds from until before to. */
unsigned long server_requests(const Server *s, uint64_t from, uint64_t to);

/* The curve as SVG. 0 or -errno. */
int fleet_draw(const Fleet *f, const char *path);
