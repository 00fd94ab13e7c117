/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All facts at once. */

#include "steps/gpu/facts.h"

/* Everything that can be known without systemd and json-c: PCI, the module's version, NVML's
 * answers, where bandwidth is true the bandwidth measured, and the kernel's ring buffer. Either
 * library has timeout_usec to answer, in a child of its own. */
void gpu_gather(GpuFacts *f, bool bandwidth, uint64_t timeout_usec);
