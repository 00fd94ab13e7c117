/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of the nccl step share. */

#include "steps/common/step.h"
#include "steps/shape/detect.h"

#define NCCL_PROGRAM "/usr/bin/ncclbench"
/* Size where no number is known: two such buffers fit into any GPU that has NCCL. */
#define NCCL_PLAIN_BYTES (UINT64_C(1) << 30)

typedef struct Nccl {
        StepContext *context;
        ShapeDetected detected;
        unsigned gpus; /* that there must be; 0: as many as CUDA sees */
        uint64_t bytes;
        double min_gbps;  /* 0: no limit */
        char *source;     /* of the limit; NULL: the configuration */
        const char *nvls; /* value of NCCL_NVLS_ENABLE, or NULL */
        char *conf;       /* /etc/nccl.conf */
        json_object *report;
} Nccl;

/* Whether NVLink multicast may be used. */
bool nccl_nvls_allowed(Nccl *s);

/* limit.c: chooses what is measured and what it must reach. 0 or -ENOMEM. */
int nccl_choose(Nccl *s);

/* One run of ncclbench. */
typedef struct NcclRun {
        unsigned gpus;         /* 0: all */
        const char *devices;   /* "0,1" instead of gpus, or NULL */
        char *const *settings; /* variables that count before all others */
        uint64_t bytes;
        double min_gbps; /* 0: no limit */

        json_object *report;
        double seconds;
        const char *code; /* why there is no report that can be used; NULL: there is */
        char *text;
} NcclRun;

/* Where a program leaves its report `name`: a check's does not replace the step's own. */
char *nccl_report_path(const StepContext *c, const char *name);
#define NCCL_REPORT "ncclbench.json"

/* bench.c: runs it and takes its report. 0 or negative errno; what it ends in is in *run. */
int nccl_bench(Nccl *s, NcclRun *run);
void nccl_run_done(NcclRun *run);

/* "nccl.slow" and the like for a reason of ncclbench's; NULL for one that nobody knows. */
const char *nccl_code_of(const char *reason);
/* Whether another try may end otherwise. */
bool nccl_may_pass(const char *code);
/* The row of this size, and a number of it or of the report (-1: there is none). */
json_object *nccl_row(json_object *report, uint64_t bytes);
double nccl_number(json_object *o, const char *key);

/* loopback.c: NCCL over each RDMA port alone. 0 or the step's failure. */
int nccl_loopback(Nccl *s);
