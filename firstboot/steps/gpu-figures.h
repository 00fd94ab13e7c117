/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Facts and findings as JSON, for the verdict's figures and `firstboot-step --facts gpu`. */

#include "gpu-judge.h"
#include "json-util.h"

/* New references; NULL on out of memory. A fact that could not be read is absent from its GPU and
 * named under "unread" with the reason. */
json_object *gpu_facts_to_json(const GpuFacts *f);
json_object *gpu_findings_to_json(const GpuFindings *f);
