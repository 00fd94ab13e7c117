/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What nvml-ask.c and nvml-ask-links.c share. */

#include "steps/gpu/nvml.h"

/* One GPU while it is asked. */
typedef struct Asking {
        const NvmlApi *api;
        GpuPhase *phase;
        nvmlDevice_t device;
        int index;
        Gpu *gpu;
} Asking;

/* Notes an answer, or the error that came instead. */
void nvml_keep(GpuFact *f, nvmlReturn_t r, int64_t value);

/* Calls a function of the table if it is there; answers false and notes it where it is not. */
#define ASK(a, fact, function)                                                                  \
        ((a)->api->function ? (gpu_phase_enter((a)->phase, "nvml" #function, (a)->index), true) \
                            : ((fact)->state = GPU_NO_SYMBOL, false))

/* One of NVML's fields; scope: a link, say. */
void nvml_ask_field(Asking *a, GpuFact *fact, unsigned field, unsigned scope);

/* By the newest form that this driver knows. */
void nvml_ask_fabric(Asking *a);
void nvml_ask_links(Asking *a);
