/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The slurm step while it runs: what its files share. */

#include "steps/common/step.h"

typedef struct Slurm {
        StepContext *context;
        char *node;
        char *drain; /* the reason to register drained with; NULL: all is well */
        bool watch;  /* that is what the watch has found, and no step */
        uint64_t deadline;
        bool running; /* slurmd was up before this run of the step */
} Slurm;

/* Sleeps, and doubles the pause up to 10 s; false once the step's time is up. */
bool slurm_again(const Slurm *s, uint64_t *pause);
