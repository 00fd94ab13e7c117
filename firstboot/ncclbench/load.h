/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What load.c (each GPU by itself) and load-peers.c (between GPUs) share: load-common.c. */

#include "ncclbench/worker.h"

typedef struct LoadGpu {
        Gpu *gpu;
        CUfunction copy, matrix, sums, rows, multiply;
        CUevent start, end;
        CUdeviceptr a, b, c, row_sums;

        /* The part that runs now. */
        unsigned launches; /* in the batch under way; 0: none */
        double usec, work; /* of the batches that are done, without the first */
        unsigned batches, next;

        double hbm_gbs, gemm_tflops;
        uint64_t wrong;
} LoadGpu;

typedef struct Load {
        Worker *w;
        LoadGpu *gpus;
        size_t bytes;
        unsigned n; /* rows of the matrices */
} Load;

/* Fails with what CUDA said of a call. */
int load_cuda_said(Load *l, const LoadGpu *g, CUresult e, const char *call);

#define LOAD_TRY(l, g, name, ...)                                        \
        do {                                                             \
                CUresult _e = (l)->w->cuda.name(__VA_ARGS__);            \
                if (_e != CUDA_SUCCESS)                                  \
                        return load_cuda_said((l), (g), _e, "cu" #name); \
        } while (0)

/* Waits for a GPU's stream until the run's deadline. */
int load_await(Load *l, LoadGpu *g, const char *what);

/* What a GPU's first `bytes` are filled with. */
PatternJob load_pattern(const LoadGpu *g, size_t bytes);

/* Counts what on GPU `at` differs from the data of GPU `from`. */
int load_check_data(Load *l, LoadGpu *at, const LoadGpu *from, size_t bytes, const char *what,
                uint64_t *ret_wrong);

/* Wrong bits end the run as a failure, but only after all has been measured. */
void load_note_wrong(Load *l, const LoadGpu *g, uint64_t wrong, const char *what);

/* load-peers.c: data from each GPU to each other one. */
int load_ways(Load *l);
