/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Facts and findings as JSON, for `firstboot-step --facts gpu` and the verdict's figures. */

#include "steps/gpu/judge.h"
#include "shared/json-util.h"

/* New references; NULL on out of memory. A fact that could not be read is absent from its GPU and
 * named under "unread" with the reason. */
json_object *gpu_facts_to_json(const GpuFacts *f);
json_object *gpu_findings_to_json(const GpuFindings *f); /* the first GPU_FINDINGS_TOLD */
#define GPU_FINDINGS_TOLD 100

/* Between the GPUs: NVLinks of the GPU that has the fewest, 10⁹ bytes a second of each in each
 * direction, and whether each GPU reaches each other one by them. */
json_object *gpu_nvlink_to_json(const GpuFacts *f);

/* The few facts of each GPU that a reader of the verdict wants: who it is and what was measured. */
json_object *gpu_summary_to_json(const GpuFacts *f);
