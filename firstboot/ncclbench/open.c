/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The CUDA driver, and which GPUs are this process's. */

#include "ncclbench/worker.h"
#include "shared/strv.h"

int worker_load_cuda(Worker *w) {
        _cleanup_free_ char *error = NULL;
        int r;

        r = cuda_api_load(w->options->cuda_library, &w->cuda, &error);
        if (r < 0)
                return failure_set(&w->failure,
                                r == -ENOSYS ? REASON_DRIVER_LIBRARY_MISMATCH
                                             : REASON_CUDA_NO_DRIVER,
                                "%s", strempty(error));
        return 0;
}

/* Which CUDA devices are this process's: --devices; else -g of them (alone on its host: all) from
 * local rank × g on, or from 0 where the job shows this process no more than its own. */
static int choose_devices(Worker *w) {
        const Options *o = w->options;
        unsigned there, n, first;
        bool all;
        int r;

        r = gpu_count(&w->cuda, &there, &w->failure);
        if (r < 0)
                return r;

        all = w->launch->world == 1 || w->launch->whole_node;
        n = o->n_devices > 0 ? o->n_devices : o->gpus > 0 ? o->gpus : all ? there : 1;
        n = MIN(n, (unsigned) OPTION_GPUS_MAX);
        first = there == n ? 0 : (unsigned) w->launch->local_rank * n;
        for (unsigned i = 0; i < n; i++) {
                int device = o->n_devices > 0 ? o->devices[i] : (int) (first + i);

                if ((unsigned) device >= there)
                        return failure_set(&w->failure, REASON_CUDA_NO_DEVICE,
                                        "GPU %d was asked for, but CUDA sees %u", device, there);
                w->gpus[i] = (Gpu) { .device = device,
                        .rank = w->launch->rank * (int) n + (int) i };
        }
        w->n_gpus = n;
        w->ranks = w->launch->world * (int) n;
        return 0;
}

int worker_open_gpus(Worker *w) {
        int r;

        r = choose_devices(w);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = gpu_open(&w->cuda, &w->gpus[i], &w->failure);
                if (r < 0)
                        return r;
                if (w->options->null_stream)
                        w->gpus[i].stream = NULL;
        }
        return 0;
}
