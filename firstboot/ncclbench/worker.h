/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the measuring half of the program carries with it: bench.c sets it up, sweep.c goes
 * through operations and sizes, measure.c measures one of them. */

#include "ncclbench/group.h"
#include "ncclbench/event.h"
#include "ncclbench/launch.h"

typedef struct Worker {
        const Options *options;
        const Launch *launch;
        EventWriter events;
        CudaApi cuda;
        NcclApi nccl;
        Rendezvous *rendezvous;
        Gpu gpus[OPTION_GPUS_MAX];
        unsigned n_gpus;
        int ranks;
        Group group;
        uint64_t deadline;
        bool capturing;   /* what is enqueued becomes part of a CUDA graph, and does not run yet */
        uint64_t started; /* when the last of the timed operations was enqueued */
        uint32_t seed;    /* of the last data, another one each time */
        Failure failure;  /* what ends the run at once */
} Worker;

/* open.c: loads the CUDA driver, and opens this process's GPUs. */
int worker_load_cuda(Worker *w);
int worker_open_gpus(Worker *w);

/* load.c and runtime.c: what `ncclbench load` and `ncclbench runtime` do. */
int load_all(Worker *w);
int runtime_all(Worker *w);

/* about.c: sends the versions. */
void about_versions(const Worker *w);

/* Asks all processes for their ranks, and sends, from process 0, a line about each. Finds processes
 * with another number of GPUs. */
int about_ranks(Worker *w);

/* sweep.c: goes through operations, types, reductions and sizes as the options say, and sends a
 * row of each from process 0. */
int sweep_all(Worker *w);

/* measure.c. One line of the table: an operation at a size. */
typedef struct Row {
        const Collective *collective;
        int type, op, root; /* op OP_NONE and root -1 where the operation has none */
        size_t nominal;     /* size asked for; the operation's own may be rounded down */
        Layout layout;
} Row;

typedef struct Timing {
        double usec;     /* mean of an operation, in this process */
        double cpu_usec; /* of it, until the last one was started */

        /* -I, in process 0: of the iterations, each as long as on the slowest GPU. */
        double lap_min, lap_max, lap_p99;
        double lap_deviation; /* per cent of the mean */
} Timing;

/* What one column group (out of place, in place) of a row says: in process 0 of all processes, in
 * the others of their own GPUs. Times are in microseconds. */
typedef struct Measured {
        double usec, usec_min, usec_max; /* mean over the processes, and their extremes */
        Timing laps;
        bool checked;
        uint64_t wrong;
        char detail[160]; /* of the first wrong element */
} Measured;

/* timing.c: times a row; 0, or -EIO with w->failure set. */
int timing_row(Worker *w, const Row *row, bool in_place, Timing *ret);

/* Runs a row once to warm up, `iterations` times without waiting in between. */
int measure_warm_up(Worker *w, const Row *row, unsigned iterations);

/* Times a row and checks every element. 0, or -EIO with w->failure set. */
int measure_row(Worker *w, const Row *row, bool in_place, Measured *ret);
