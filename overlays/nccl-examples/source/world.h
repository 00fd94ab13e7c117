/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The two examples with MPI: processes find each other by it, and NCCL's identifier goes from the first to all. */

#include "example.h"

typedef struct World {
        int rank, size;             /* among all processes */
        int local_rank, local_size; /* among those of this host */
} World;

/* MPI is up when it is back, and its processes end together from then on. */
void world_enter(World *w, Example *e, int argc, char *argv[]);

/* The whole example for e->gpus GPUs of this process; the program's exit code. */
int world_run(World *w, Example *e, int count);
