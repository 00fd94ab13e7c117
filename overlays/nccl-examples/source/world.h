/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The two examples with MPI: processes find each other by it, and NCCL's identifier goes from the
 * first to all. */

#include "example.h"

#include <mpi.h>

typedef struct World {
        MPI_Comm host;  /* the processes of this host */
        int rank, size; /* among all */
        int local_size; /* how many this host has */
} World;

/* MPI is up when it is back, and its processes end together from then on. */
void world_enter(World *w, Example *e, int argc, char *argv[]);

/* The whole example for e->gpus GPUs of this process; the program's exit code. */
int world_run(World *w, Example *e, int count);
