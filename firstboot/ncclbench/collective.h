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
        const NcclApi *nccl;
        const void *send;
        void *receive;
        size_t count;
        int type, op, root, rank, ranks;
        ncclComm_t comm;
        CUstream stream;
} Call;

typedef struct Collective {
        const char *name;
        const char *label; /* of the table's header line */
        bool reduces;      /* takes -o */
        bool rooted;       /* takes -r */
        bool in_place;     /* has a defined result in place; else only the time is measured there */
        void (*layout)(size_t elements, size_t type_size, size_t ranks, Layout *ret);
        double (*factor)(int ranks);
        ncclResult_t (*start)(const Call *call);
} Collective;

extern const Collective collective_table[];
extern const size_t collective_count;

const Collective *collective_find(const char *name); /* NULL: unknown */

/* Bytes that a row of the table stands for: the larger of what a rank sends and receives. */
size_t layout_bytes(const Layout *layout, size_t type_size);

/* What `rank` must have in its receive buffer; *ret is complete but for the seed. An empty job
 * (count 0): nothing is promised to this rank. As pattern_prepare() in its errors. */
int collective_expect(const Collective *c, const Layout *layout, int type, int op, int root,
                int rank, int ranks, PatternJob *ret);

/* What `rank` sends. */
int collective_send(const Collective *c, const Layout *layout, int type, int op, int rank,
                int ranks, PatternJob *ret);
