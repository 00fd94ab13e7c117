/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A short load on all GPUs by `ncclbench load`: memory bandwidth, matrix products, copies between
 * all pairs; meanwhile the clocks are looked at, afterwards NVML is asked again. */

#include "shared/json-util.h"
#include "steps/gpu/facts.h"

/* Whether there is a load to be run, and GPUs that it can be run on. */
bool gpu_load_is_possible(const GpuFacts *f);

/* Runs it and fills f->load; all else that NVML tells is as it is after the load, and the kernel
 * log is read anew. A load that fails is told of in f->load; a program that has no load leaves it
 * as it is. Returns 0 or -ENOMEM. */
int gpu_load(GpuFacts *f, uint64_t timeout_usec);

/* The JSON document among what the program printed; the caller's to free. -EINVAL where there is
 * none. */
int gpu_load_document(const char *output, json_object **ret);

/* Takes what the program printed. 0; -EINVAL where it is no such report. */
int gpu_load_parse(GpuLoad *l, unsigned n_gpus, const char *output);
