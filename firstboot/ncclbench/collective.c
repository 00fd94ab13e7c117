/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of operations, and what each needs to know of itself. */

#include "ncclbench/collective.h"
#include "ncclbench/pattern-host.h"

/* Bus bandwidth = bytes / time × factor, so that the figure can be held against the speed of the
 * links whatever the number of ranks. Source: nccl-tests, doc/PERFORMANCE.md, "Summary"; sendrecv,
 * which that summary leaves out, sends each byte once: 1. */
static double factor_all_reduce(int n) {
        return 2.0 * (n - 1) / n;
}

static double factor_scatter(int n) {
        return (double) (n - 1) / n;
}

static double factor_one(int n _unused_) {
        return 1;
}

static void layout_whole(
                size_t elements, size_t type_size _unused_, size_t ranks _unused_, Layout *ret) {
        *ret = (Layout) { .count = elements, .send_count = elements, .receive_count = elements };
}

/* A rank's piece is a multiple of 16 bytes, as nccl-tests has it: pieces then start aligned. */
static size_t piece(size_t elements, size_t type_size, size_t ranks) {
        return elements / ranks & ~(16 / type_size - 1);
}

static void layout_all_gather(size_t elements, size_t type_size, size_t ranks, Layout *ret) {
        size_t p = piece(elements, type_size, ranks);

        *ret = (Layout) {
                .count = p, .send_count = p, .receive_count = p * ranks, .in_place_send = p
        };
}

static void layout_reduce_scatter(size_t elements, size_t type_size, size_t ranks, Layout *ret) {
        size_t p = piece(elements, type_size, ranks);

        *ret = (Layout) {
                .count = p, .send_count = p * ranks, .receive_count = p, .in_place_receive = p
        };
}

static void layout_alltoall(size_t elements, size_t type_size, size_t ranks, Layout *ret) {
        size_t p = piece(elements, type_size, ranks);

        *ret = (Layout) { .count = p, .send_count = p * ranks, .receive_count = p * ranks };
}

static ncclResult_t start_all_reduce(const Call *c) {
        return c->nccl->AllReduce(
                        c->send, c->receive, c->count, c->type, c->op, c->comm, c->stream);
}

static ncclResult_t start_all_gather(const Call *c) {
        return c->nccl->AllGather(c->send, c->receive, c->count, c->type, c->comm, c->stream);
}

static ncclResult_t start_reduce_scatter(const Call *c) {
        return c->nccl->ReduceScatter(
                        c->send, c->receive, c->count, c->type, c->op, c->comm, c->stream);
}

static ncclResult_t start_broadcast(const Call *c) {
        return c->nccl->Broadcast(
                        c->send, c->receive, c->count, c->type, c->root, c->comm, c->stream);
}

static ncclResult_t start_reduce(const Call *c) {
        return c->nccl->Reduce(
                        c->send, c->receive, c->count, c->type, c->op, c->root, c->comm, c->stream);
}

/* Before NCCL 2.28 an all-to-all is a group of sends and receives. */
static ncclResult_t start_alltoall(const Call *c) {
        size_t bytes = c->count * type_table[c->type].size;
        ncclResult_t r;

        if (c->nccl->AlltoAll)
                return c->nccl->AlltoAll(
                                c->send, c->receive, c->count, c->type, c->comm, c->stream);

        r = c->nccl->GroupStart();
        for (int peer = 0; r == ncclSuccess && peer < c->ranks; peer++) {
                size_t offset = (size_t) peer * bytes;

                r = c->nccl->Send((const char *) c->send + offset, c->count, c->type, peer, c->comm,
                                c->stream);
                if (r == ncclSuccess)
                        r = c->nccl->Recv((char *) c->receive + offset, c->count, c->type, peer,
                                        c->comm, c->stream);
        }
        return r == ncclSuccess ? c->nccl->GroupEnd() : r;
}

/* Each rank sends to the next and receives from the one before. */
static ncclResult_t start_sendrecv(const Call *c) {
        int next = (c->rank + 1) % c->ranks, before = (c->rank + c->ranks - 1) % c->ranks;
        ncclResult_t r;

        r = c->nccl->GroupStart();
        if (r == ncclSuccess)
                r = c->nccl->Send(c->send, c->count, c->type, next, c->comm, c->stream);
        if (r == ncclSuccess)
                r = c->nccl->Recv(c->receive, c->count, c->type, before, c->comm, c->stream);
        return r == ncclSuccess ? c->nccl->GroupEnd() : r;
}

const Collective collective_table[] = {
        /* name, label, reduces, rooted, in place, layout, factor, start */
        { "all_reduce", "AllReduce", true, false, true, layout_whole, factor_all_reduce,
                        start_all_reduce },
        { "all_gather", "AllGather", false, false, true, layout_all_gather, factor_scatter,
                        start_all_gather },
        { "reduce_scatter", "ReduceScatter", true, false, true, layout_reduce_scatter,
                        factor_scatter, start_reduce_scatter },
        { "broadcast", "Broadcast", false, true, true, layout_whole, factor_one, start_broadcast },
        { "reduce", "Reduce", true, true, true, layout_whole, factor_one, start_reduce },
        { "alltoall", "AlltoAll", false, false, false, layout_alltoall, factor_scatter,
                        start_alltoall },
        { "sendrecv", "SendRecv", false, false, false, layout_whole, factor_one, start_sendrecv },
};
const size_t collective_count = ELEMENTSOF(collective_table);

const Collective *collective_find(const char *name) {
        for (size_t i = 0; i < collective_count; i++)
                if (streq(collective_table[i].name, name))
                        return &collective_table[i];
        return NULL;
}

size_t layout_bytes(const Layout *layout, size_t type_size) {
        return MAX(layout->send_count, layout->receive_count) * type_size;
}

int collective_expect(const Collective *c, const Layout *layout, int type, int op, int root,
                int rank, int ranks, PatternJob *ret) {
        PatternJob job = {
                .count = layout->receive_count,
                .type = (uint32_t) type,
                .op = (uint32_t) (c->reduces ? op : OP_NONE),
                .ranks = (uint32_t) ranks,
                .reduced = c->reduces,
        };
        int r;

        if (c->start == start_reduce && rank != root)
                job.count = 0;
        else if (c->start == start_reduce_scatter)
                job.index_base = (uint64_t) rank * layout->count;
        else if (c->start == start_all_gather)
                job.chunk = layout->count;
        else if (c->start == start_alltoall) {
                job.chunk = layout->count;
                job.index_base = (uint64_t) rank * layout->count;
        } else if (c->start == start_broadcast)
                job.rank = (uint32_t) root;
        else if (c->start == start_sendrecv)
                job.rank = (uint32_t) ((rank + ranks - 1) % ranks);

        r = pattern_prepare(&job);
        if (r < 0)
                return r;
        *ret = job;
        return 0;
}

int collective_send(const Collective *c, const Layout *layout, int type, int op, int rank,
                int ranks, PatternJob *ret) {
        PatternJob job = {
                .count = layout->send_count,
                .type = (uint32_t) type,
                .op = (uint32_t) (c->reduces ? op : OP_NONE),
                .ranks = (uint32_t) ranks,
                .rank = (uint32_t) rank,
        };
        int r;

        r = pattern_prepare(&job);
        if (r < 0)
                return r;
        *ret = job;
        return 0;
}
