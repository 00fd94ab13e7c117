/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Waiting for a GPU under load, and looking at what it did. */

#include "ncclbench/load.h"
#include "ncclbench/deadline.h"
#include "shared/strv.h"

#include <inttypes.h>

int load_cuda_said(Load *l, const LoadGpu *g, CUresult e, const char *call) {
        _cleanup_free_ char *text = cuda_error_text(&l->w->cuda, e);

        return failure_set(&l->w->failure, reason_from_cuda(e), "%s on GPU %d (%s): %s", call,
                        g->gpu->device, g->gpu->pci, strempty(text));
}

int load_await(Load *l, LoadGpu *g, const char *what) {
        for (;;) {
                CUresult e = l->w->cuda.StreamQuery(g->gpu->stream);

                if (e == CUDA_SUCCESS)
                        return 0;
                if (e != CUDA_ERROR_NOT_READY)
                        return load_cuda_said(l, g, e, what);
                if (now_usec() >= l->w->deadline)
                        return failure_set(&l->w->failure, REASON_CUDA_TIMEOUT,
                                        "%s on GPU %d (%s) did not end in time", what,
                                        g->gpu->device, g->gpu->pci);
                usleep(100);
        }
}

PatternJob load_pattern(const LoadGpu *g, size_t bytes) {
        return (PatternJob) {
                .count = bytes / 8,
                .type = TYPE_UINT64,
                .op = OP_NONE,
                .ranks = 1,
                .rank = (uint32_t) g->gpu->device,
                .stride = 1,
                .seed = 4711,
        };
}

int load_check_data(Load *l, LoadGpu *at, const LoadGpu *from, size_t bytes, const char *what,
                uint64_t *ret_wrong) {
        PatternJob job = load_pattern(from, bytes);
        Worker *w = l->w;
        GpuCheck check;
        int r;

        r = gpu_check_start(&w->cuda, at->gpu, &job, at->gpu->receive, &w->failure);
        if (r < 0)
                return r;
        r = load_await(l, at, what);
        if (r < 0)
                return r;
        r = gpu_check_result(&w->cuda, at->gpu, &job, at->gpu->receive, &check, &w->failure);
        if (r < 0)
                return r;
        *ret_wrong = check.wrong;
        return 0;
}

void load_note_wrong(Load *l, const LoadGpu *g, uint64_t wrong, const char *what) {
        if (wrong > 0)
                failure_set(&l->w->failure, REASON_CUDA_WRONG_RESULT,
                                "GPU %d (%s): %" PRIu64 " wrong elements or rows after %s",
                                g->gpu->device, g->gpu->pci, wrong, what);
}
