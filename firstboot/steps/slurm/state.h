/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The slurm step while it runs: what its files share. */

#include "steps/common/fault.h"

typedef struct Slurm {
        StepContext *context;
        char *node;
        char *drain; /* the reason to register drained with; NULL: all is well */
        Fault fault; /* what it tells of */
        uint64_t deadline;
        unsigned pauses; /* made so far */
        bool running;    /* slurmd was up before this run of the step */
        bool started;    /* and is, since this run */
        bool dynamic;    /* slurmd tells the controller of the node */
        bool lifted;     /* a drain of ours, in this run */
} Slurm;

/* Sleeps, and doubles the pause up to 10 s; false once the step's time is up. */
bool slurm_again(Slurm *s, uint64_t *pause);
