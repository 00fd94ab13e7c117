/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who measures with whom, and what follows from the results. No clocks and no sockets: every
 * process computes the same plan from the same results. */

#include "shared/macro.h"

typedef enum NodeState {
        NODE_UNTESTED, /* nobody to measure with yet */
        NODE_PASSED,   /* all its pairs were well */
        NODE_SUSPECT,  /* a pair of its was not */
        NODE_CLEARED,  /* a suspect, or untested before, and well with a node that passed */
        NODE_BAD,      /* a suspect, and not well with a node that passed */
        NODE_UNPROVEN, /* a suspect, and no node passed that could tell */
        NODE_GONE,     /* its process is no longer there */
} NodeState;

const char *node_state_name(NodeState s);

/* What one node says of its last measurement. */
typedef struct PairResult {
        bool present; /* the node still answers */
        int partner;  /* -1: it had none */
        bool well;    /* measured, right, and as fast as asked for */
        double busbw; /* GB/s; 0 where it was not measured */
} PairResult;

/* Partners of round `round` (0 …) of a round-robin tournament; -1: none this time. Over n-1 rounds
 * (n if odd) everybody meets everybody once. */
void plan_round(int n, unsigned round, int *ret_partner);

/* The median of the pairs that were measured (the upper one of two), 0 where none was. */
double plan_reference(const PairResult *results, int n);

/* Takes over the results of a round, or of a wave of retests: marks a pair as not well where
 * either half says so or it is below least[] GB/s, which is the same for both. */
void plan_apply(NodeState *states, const PairResult *results, int n, const double *least,
                bool retest);

/* Partners for suspects and untested nodes among those that passed or were cleared. Returns the
 * number of pairs; with 0, what is left is marked unproven. */
int plan_retest(NodeState *states, int n, int *ret_partner);
