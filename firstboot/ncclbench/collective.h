/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The operations that can be measured: how a size is laid out over the ranks, what the result must
 * be, how time becomes bus bandwidth, and the NCCL call. */

#include "ncclbench/gpu-api.h"
#include "ncclbench/types.h"

/* How one operation of (at most) a given size lies in the buffers of a rank; all in elements. */
typedef struct Layout {
        size_t count;         /* NCCL's argument */
        size_t send_count;    /* elements in the send buffer */
        size_t receive_count; /* elements in the receive buffer */
        size_t in_place_send; /* in place, rank r sends from r times this in the receive buffer */
        size_t in_place_receive; /* … and receives at r times this */
} Layout;

typedef struct Call {
        const CudaApi *cuda;
        const NcclApi *nccl;
        const void *send;
        void *receive;
        size_t count;
        int type, op, root, rank, ranks;
        ncclComm_t comm;
        CUstream stream;
        int step; /* 0 … steps - 1 */
} Call;

typedef struct Collective {
        const char *name;
        const char *label; /* of the table's header line */
        bool reduces;      /* takes -o */
        bool rooted;       /* takes -r */
        bool in_place;     /* has a defined result in place; else only the time is measured there */
        void (*layout)(size_t elements, size_t type_size, size_t ranks, Layout *ret);
        double (*factor)(int ranks); /* bus bandwidth to algorithm bandwidth */
        ncclResult_t (*start)(const Call *call);

        /* NULL where it is one step for any number of ranks. Each is a group of its own over all
         * GPUs of the process; 0: it cannot be done with so many ranks. */
        int (*steps)(int ranks);
} Collective;

extern const Collective collective_table[];
extern const size_t collective_count;

const Collective *collective_find(const char *name); /* NULL: unknown */

/* Bytes that a row of the table stands for: the larger of what a rank sends and receives. */
size_t layout_bytes(const Layout *layout, size_t type_size);

/* Bytes that its algorithm bandwidth counts: the same, but that hypercube leaves out what stays. */
double collective_bytes(const Collective *c, const Layout *layout, size_t type_size, int ranks);

int collective_steps(const Collective *c, int ranks);

/* What a rank receives may be in several parts, each of which is a job of its own. */
int collective_parts(const Collective *c, int ranks);

/* What `rank` must have in its receive buffer; *ret is complete but for the seed. An empty job
 * (count 0): nothing is promised to this rank. As pattern_prepare() in its errors. */
int collective_expect(const Collective *c, const Layout *layout, int type, int op, int root,
                int rank, int ranks, PatternJob *ret);

/* The same for one part; *ret_offset is where it begins, in elements. */
int collective_expect_part(const Collective *c, const Layout *layout, int type, int op, int root,
                int rank, int ranks, int part, PatternJob *ret, size_t *ret_offset);

/* What `rank` sends. */
int collective_send(const Collective *c, const Layout *layout, int type, int op, int rank,
                int ranks, PatternJob *ret);
