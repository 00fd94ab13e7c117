/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the three examples have in common: options, memory on the GPUs, the sum itself, and whether
 * it is right. How the communicators come about, which is where they differ, is in each example's
 * own file. */

#include "gpu.h"

#include <stdint.h>

typedef struct Example {
        const char *name, *text;
        int gpus; /* of this process; 0: all */
        size_t elements;
        unsigned seconds;      /* it may take no longer; 0: it may */
        int ranks;             /* GPUs of all processes together */
        void (*give_up)(void); /* ends the other processes; NULL: there are none */
} Example;

typedef struct Gpu {
        int device, rank;
        int64_t *send, *receive; /* in the GPU's memory */
        cudaStream_t stream;
        ncclComm_t comm;
} Gpu;

/* An error of CUDA's or NCCL's ends the program, and says where. */
#define CUDA(e, call) example_cuda(e, call, #call)
#define NCCL(e, call) example_nccl(e, call, #call)
void example_cuda(const Example *e, cudaError_t error, const char *what);
void example_nccl(const Example *e, ncclResult_t result, const char *what);
void example_fail(const Example *e, const char *format, ...)
                __attribute__((format(printf, 2, 3), noreturn));

/* The command line; --help and mistakes end the program. Before MPI_Init(), so that -t holds for
 * that as well. */
void example_options(Example *e, int argc, char *argv[]);

/* How many GPUs this process sees: one or more. */
int example_count(const Example *e);

Gpu *gpus_new(const Example *e, int first_device, int count);
/* All ranks' sum, on all GPUs of this process; back when it is there. */
void gpus_sum(const Example *e, Gpu *gpus);
/* How many elements are wrong on this process' GPUs; the first of each GPU is told. */
uint64_t gpus_wrong(const Example *e, const Gpu *gpus);
void gpus_free(const Example *e, Gpu *gpus);
