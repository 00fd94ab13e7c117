/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The order of the questions: what hangs in one library would hang in the next. */

#include "steps/gpu/gather.h"
#include "shared/time-util.h"
#include "steps/gpu/bandwidth.h"
#include "steps/gpu/nvml.h"
#include "steps/gpu/pci.h"
#include "steps/gpu/xid.h"

void gpu_gather(GpuFacts *f, bool bandwidth, uint64_t timeout_usec) {
        GpuService persistenced = f->persistenced, fabric_manager = f->fabric_manager;

        memset(f, 0, sizeof(*f));
        f->persistenced = persistenced;
        f->fabric_manager = fabric_manager;
        f->uptime_usec = now_usec();
        gpu_read_pci(f);
        gpu_ask(f, &f->nvml, gpu_ask_nvml, NULL, timeout_usec);
        /* What hangs in NVML would hang here as well. */
        if (bandwidth && f->nvml.state == GPU_PHASE_DONE && f->n > 0)
                gpu_ask(f, &f->cuda, gpu_ask_cuda, NULL, timeout_usec);
        /* Last, so that what the questions above have set off is seen. */
        gpu_read_kernel_log(f);
}
