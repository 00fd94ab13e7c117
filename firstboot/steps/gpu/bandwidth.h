/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Host-to-device and device-to-host bandwidth of each GPU, one after the other, from pinned
 * memory, by the CUDA driver's library; and the PCIe generation that the link has meanwhile. */

#include "steps/gpu/facts.h"

/* For gpu_ask(), after NVML's facts are there. */
void gpu_ask_cuda(GpuFacts *f, GpuPhase *phase, void *userdata);
