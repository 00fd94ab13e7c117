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

/* What rank `from` sends to rank `to` of an alltoallv, in elements: the more the farther away, and
 * nothing to itself. Source: nccl-tests' generated pattern with its default spread of 1. */
static size_t uneven(size_t count, int from, int to, int ranks, size_t type_size) {
        size_t n = (size_t) ranks, total = count * n * type_size, distances = n * (n - 1) / 2;
        size_t distance = (size_t) ((to - from + ranks) % ranks);
        double share;

        if (ranks == 1)
                return (total & ~(size_t) 15) / type_size;
        share = (double) distance * (double) total / (double) distances;
        return ((size_t) share & ~(size_t) 15) / type_size;
}

static void layout_alltoallv(size_t elements, size_t type_size, size_t ranks, Layout *ret) {
        size_t p = piece(elements, type_size, ranks), sum = 0;

        /* Every rank sends and receives as much as rank 0. */
        for (size_t to = 0; to < ranks; to++)
                sum += uneven(p, 0, (int) to, (int) ranks, type_size);
        *ret = (Layout) { .count = p, .send_count = sum, .receive_count = sum };
}

static int steps_hypercube(int ranks) {
        return ranks & (ranks - 1) ? 0 : MAX(__builtin_ctz((unsigned) ranks), 1);
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

/* Before NCCL 2.28 a gather is a group of sends and receives too, and a scatter. */
static ncclResult_t start_gather(const Call *c) {
        size_t bytes = c->count * type_table[c->type].size;
        ncclResult_t r;

        if (c->count == 0)
                return ncclSuccess;
        if (c->nccl->Gather)
                return c->nccl->Gather(c->send, c->receive, c->count, c->type, c->root, c->comm,
                                c->stream);

        r = c->nccl->GroupStart();
        if (r == ncclSuccess)
                r = c->nccl->Send(c->send, c->count, c->type, c->root, c->comm, c->stream);
        for (int peer = 0; r == ncclSuccess && c->rank == c->root && peer < c->ranks; peer++)
                r = c->nccl->Recv((char *) c->receive + (size_t) peer * bytes, c->count, c->type,
                                peer, c->comm, c->stream);
        return r == ncclSuccess ? c->nccl->GroupEnd() : r;
}

static ncclResult_t start_scatter(const Call *c) {
        size_t bytes = c->count * type_table[c->type].size;
        ncclResult_t r;

        if (c->count == 0)
                return ncclSuccess;
        if (c->nccl->Scatter)
                return c->nccl->Scatter(c->send, c->receive, c->count, c->type, c->root, c->comm,
                                c->stream);

        r = c->nccl->GroupStart();
        for (int peer = 0; r == ncclSuccess && c->rank == c->root && peer < c->ranks; peer++)
                r = c->nccl->Send((const char *) c->send + (size_t) peer * bytes, c->count, c->type,
                                peer, c->comm, c->stream);
        if (r == ncclSuccess)
                r = c->nccl->Recv(c->receive, c->count, c->type, c->root, c->comm, c->stream);
        return r == ncclSuccess ? c->nccl->GroupEnd() : r;
}

/* An all_gather in log2(ranks) steps: each doubles what a rank has, by an exchange with the rank
 * whose number differs in one bit. */
static ncclResult_t start_hypercube(const Call *c) {
        size_t bytes = c->count * type_table[c->type].size;
        char *receive = c->receive, *own = receive + (size_t) c->rank * bytes;
        int mask = 1 << c->step, mine = c->rank & ~(mask - 1), theirs = mine ^ mask;
        ncclResult_t r;

        if (c->count == 0)
                return ncclSuccess;
        if (c->step == 0 && own != c->send &&
                        c->cuda->MemcpyDtoDAsync((CUdeviceptr) (uintptr_t) own,
                                        (CUdeviceptr) (uintptr_t) c->send, bytes,
                                        c->stream) != CUDA_SUCCESS)
                return ncclUnhandledCudaError;
        if (c->ranks == 1)
                return ncclSuccess;

        r = c->nccl->GroupStart();
        if (r == ncclSuccess)
                r = c->nccl->Send(receive + (size_t) mine * bytes, c->count * (size_t) mask,
                                c->type, c->rank ^ mask, c->comm, c->stream);
        if (r == ncclSuccess)
                r = c->nccl->Recv(receive + (size_t) theirs * bytes, c->count * (size_t) mask,
                                c->type, c->rank ^ mask, c->comm, c->stream);
        return r == ncclSuccess ? c->nccl->GroupEnd() : r;
}

static ncclResult_t start_alltoallv(const Call *c) {
        size_t size = type_table[c->type].size;
        const char *send = c->send;
        char *receive = c->receive;
        ncclResult_t r;

        r = c->nccl->GroupStart();
        for (int peer = 0; r == ncclSuccess && peer < c->ranks; peer++) {
                size_t out = uneven(c->count, c->rank, peer, c->ranks, size),
                       in = uneven(c->count, peer, c->rank, c->ranks, size);

                if (out > 0)
                        r = c->nccl->Send(send, out, c->type, peer, c->comm, c->stream);
                if (r == ncclSuccess && in > 0)
                        r = c->nccl->Recv(receive, in, c->type, peer, c->comm, c->stream);
                send += out * size;
                receive += in * size;
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
        { "gather", "Gather", false, true, true, layout_all_gather, factor_scatter, start_gather },
        { "scatter", "Scatter", false, true, true, layout_reduce_scatter, factor_scatter,
                        start_scatter },
        { "hypercube", "HyperCube", false, false, true, layout_all_gather, factor_one,
                        start_hypercube, steps_hypercube },
        { "alltoallv", "AlltoAllv", false, false, false, layout_alltoallv, factor_scatter,
                        start_alltoallv },
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

double collective_bytes(const Collective *c, const Layout *layout, size_t type_size, int ranks) {
        if (c->start == start_hypercube)
                return (double) (layout->count * type_size) * (ranks - 1);
        return (double) layout_bytes(layout, type_size);
}

int collective_steps(const Collective *c, int ranks) {
        return c->steps ? c->steps(ranks) : 1;
}

int collective_parts(const Collective *c, int ranks) {
        return c->start == start_alltoallv ? ranks : 1;
}

int collective_expect_part(const Collective *c, const Layout *layout, int type, int op, int root,
                int rank, int ranks, int part, PatternJob *ret, size_t *ret_offset) {
        size_t size = type_table[type].size, offset = 0;
        PatternJob job;
        int r;

        r = collective_expect(c, layout, type, op, root, rank, ranks, &job);
        if (r < 0)
                return r;
        if (c->start == start_alltoallv) {
                job.rank = (uint32_t) part;
                job.count = uneven(layout->count, part, rank, ranks, size);
                for (int i = 0; i < part; i++)
                        offset += uneven(layout->count, i, rank, ranks, size);
                for (int i = 0; i < rank; i++)
                        job.index_base += uneven(layout->count, part, i, ranks, size);
        }
        *ret = job;
        *ret_offset = offset;
        return 0;
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

        if ((c->start == start_reduce || c->start == start_gather) && rank != root)
                job.count = 0;
        else if (c->start == start_reduce_scatter)
                job.index_base = (uint64_t) rank * layout->count;
        else if (c->start == start_all_gather || c->start == start_gather ||
                        c->start == start_hypercube)
                job.chunk = layout->count;
        else if (c->start == start_scatter) {
                job.rank = (uint32_t) root;
                job.index_base = (uint64_t) rank * layout->count;
        } else if (c->start == start_alltoall) {
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
