/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From each GPU to each other one, pair by pair: how fast, and whether what arrives is what was
 * sent. */

#include "ncclbench/load.h"

#define PEER_BYTES ((size_t) 256 << 20)
#define PEER_COPIES 8

static int open_way(Load *l, LoadGpu *from, LoadGpu *to, bool *ret_peer) {
        int can = 0, r;
        CUresult e;

        LOAD_TRY(l, from, DeviceCanAccessPeer, &can, from->gpu->handle, to->gpu->handle);
        *ret_peer = can != 0;
        r = gpu_use(&l->w->cuda, from->gpu, &l->w->failure);
        if (r < 0 || !can)
                return r;
        e = l->w->cuda.CtxEnablePeerAccess(to->gpu->context, 0);
        if (e != CUDA_SUCCESS && e != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
                return load_cuda_said(l, from, e, "cuCtxEnablePeerAccess");
        return 0;
}

static int copy_across(Load *l, LoadGpu *from, LoadGpu *to, size_t bytes, unsigned copies) {
        for (unsigned i = 0; i < copies; i++)
                LOAD_TRY(l, from, MemcpyPeerAsync, (CUdeviceptr) (uintptr_t) to->gpu->receive,
                                to->gpu->context, (CUdeviceptr) (uintptr_t) from->gpu->send,
                                from->gpu->context, bytes, from->gpu->stream);
        return 0;
}

/* GB/s from one GPU to another, and what came wrong. */
static int measure_way(Load *l, LoadGpu *from, LoadGpu *to, double *ret_gbs, uint64_t *ret_wrong) {
        size_t bytes = MIN(l->bytes, PEER_BYTES);
        float ms = 0;
        int r;

        r = gpu_poison(&l->w->cuda, to->gpu, to->gpu->receive, bytes, &l->w->failure);
        if (r < 0)
                return r;
        r = load_await(l, to, "poisoning memory");
        if (r < 0)
                return r;
        r = gpu_use(&l->w->cuda, from->gpu, &l->w->failure);
        if (r < 0)
                return r;
        r = copy_across(l, from, to, bytes, 1); /* not timed: the first opens the way */
        if (r < 0)
                return r;
        LOAD_TRY(l, from, EventRecord, from->start, from->gpu->stream);
        r = copy_across(l, from, to, bytes, PEER_COPIES);
        if (r < 0)
                return r;
        LOAD_TRY(l, from, EventRecord, from->end, from->gpu->stream);
        r = load_await(l, from, "copying to another GPU");
        if (r < 0)
                return r;
        LOAD_TRY(l, from, EventElapsedTime, &ms, from->start, from->end);
        *ret_gbs = ms > 0 ? (double) bytes * PEER_COPIES / (double) ms / 1e6 : 0;
        return load_check_data(
                        l, to, from, bytes, "checking what came from another GPU", ret_wrong);
}

static int load_way(Load *l, LoadGpu *from, LoadGpu *to) {
        json_object *o;
        uint64_t wrong = 0;
        double gbs = 0;
        bool peer = false;
        int r;

        r = open_way(l, from, to, &peer);
        if (r < 0)
                return r;
        r = measure_way(l, from, to, &gbs, &wrong);
        if (r < 0)
                return r;
        o = json_object_new_object();
        if (!o)
                return failure_set(&l->w->failure, REASON_INTERNAL, "out of memory");
        json_set_fields(o, JSON_INT("from", from->gpu->device), JSON_INT("to", to->gpu->device),
                        JSON_DOUBLE("gbs", gbs), JSON_BOOL("peer", peer), JSON_INT("wrong", wrong));
        event_send(&l->w->events, "p2p", o);
        load_note_wrong(l, to, wrong, "a copy from another GPU");
        return 0;
}

int load_ways(Load *l) {
        for (unsigned i = 0; i < l->w->n_gpus; i++)
                for (unsigned k = 0; k < l->w->n_gpus; k++) {
                        int r = i == k ? 0 : load_way(l, &l->gpus[i], &l->gpus[k]);

                        if (r < 0)
                                return r;
                }
        return 0;
}
