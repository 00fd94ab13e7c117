/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* When something is tried again: arithmetic alone, without a clock and without chance. What looks
 * like chance is made of the node's identity, of what is tried, and of how often it was: nodes that
 * were powered on together fall apart, attempts of one node do too, and a test gets the same times
 * every time. The daemon, the steps, the helper and the simulated fleet (tests/bench/fleet) all
 * ask here. All times are in µs. */

#include "shared/macro.h"

/* Defaults of the configuration's "retry" section. */
#define RETRY_SPREAD_USEC (250 * USEC_PER_MSEC)
#define RETRY_SLOW_USEC (5 * 60 * USEC_PER_SEC)

/* A slow attempt of a step asks its servers for so long only. What fails within it waits for the
 * next one: else, with every node asking for minutes out of every few, a good part of a fleet
 * would be at the door in the second in which a server comes back. */
#define RETRY_SLOW_TRY_USEC (10 * USEC_PER_SEC)

/* The seed of what a node tries: node is node_seed()'s. */
uint64_t retry_seed(uint64_t node, const char *what);

/* The nth number of the seed's sequence, from 0 to below span; 0 where span is 0. */
uint64_t retry_random(uint64_t seed, uint64_t n, uint64_t span);

/* usec, or less: anywhere in its upper half. */
uint64_t retry_jitter(uint64_t seed, uint64_t n, uint64_t usec);

/* What is attempted as a whole, such as a step. */
typedef struct RetryPlan {
        uint64_t spread_usec;                /* the first attempt: anywhere within it */
        uint64_t delay_usec, delay_max_usec; /* fast: doubled each time, up to the second */
        unsigned retries;                    /* how many fast ones */
        uint64_t slow_usec;                  /* then about so far apart for ever; 0: no more */
} RetryPlan;

typedef enum RetryKind {
        RETRY_NEVER,
        RETRY_FAST,
        RETRY_SLOW,
} RetryKind;

/* The configuration is gathered again where the metadata service does not answer. So many tries are
 * made before the node is called failed; then it is asked slowly. */
#define RETRY_METADATA_TRIES 5
#define RETRY_PLAN_METADATA(spread, slow)            \
        { .spread_usec = (spread),                   \
                .delay_usec = 4 * USEC_PER_SEC,      \
                .delay_max_usec = 60 * USEC_PER_SEC, \
                .retries = RETRY_METADATA_TRIES - 1, \
                .slow_usec = (slow) }

/* How long the first attempt waits. */
uint64_t retry_first(const RetryPlan *p, uint64_t seed);

/* What follows after so many attempts that failed in a way that may pass, and the pause until then.
 * The first slow pause puts the node anywhere in the period, the others leave it about there: a
 * server that comes back gets an even stream. */
RetryKind retry_next(const RetryPlan *p, uint64_t seed, unsigned attempts, uint64_t *ret_pause);

/* A question that is repeated within one attempt: pauses double, and a limit ends it. */
typedef struct RetryLoop {
        uint64_t seed;
        uint64_t pause_usec, pause_max_usec;
        uint64_t deadline_usec;
        unsigned n; /* pauses so far */
} RetryLoop;

/* Loops that ask servers, as the steps and the helper have them. */
#define RETRY_LOOP_METADATA(s, deadline)            \
        { .seed = (s),                              \
                .pause_usec = 200 * USEC_PER_MSEC,  \
                .pause_max_usec = 5 * USEC_PER_SEC, \
                .deadline_usec = (deadline) }
#define RETRY_LOOP_LDAP(s, deadline)                 \
        { .seed = (s),                               \
                .pause_usec = 500 * USEC_PER_MSEC,   \
                .pause_max_usec = 10 * USEC_PER_SEC, \
                .deadline_usec = (deadline) }
#define RETRY_LOOP_MOUNT(s, deadline)                \
        { .seed = (s),                               \
                .pause_usec = USEC_PER_SEC,          \
                .pause_max_usec = 30 * USEC_PER_SEC, \
                .deadline_usec = (deadline) }
#define RETRY_LOOP_SLURM(s, deadline)                \
        { .seed = (s),                               \
                .pause_usec = USEC_PER_SEC,          \
                .pause_max_usec = 10 * USEC_PER_SEC, \
                .deadline_usec = (deadline) }
#define RETRY_LOOP_KUBERNETES(s, deadline)           \
        { .seed = (s),                               \
                .pause_usec = 500 * USEC_PER_MSEC,   \
                .pause_max_usec = 10 * USEC_PER_SEC, \
                .deadline_usec = (deadline) }

/* How long the loop pauses now; false where it is over. */
bool retry_again(RetryLoop *l, uint64_t now_usec, uint64_t *ret_pause);
