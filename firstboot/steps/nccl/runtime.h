/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The CUDA runtime that programs of this node get: proved by `ncclbench runtime`. */

#include "steps/common/step.h"

/* Runs it and adds the figures "cuda_runtimes". 0 with *ret_report its document, which the caller
 * puts; NULL where nccl.cuda_runtime is off. -EPROTO where the verdict is in. */
int runtime_prove(StepContext *c, const char *program, json_object **ret_report);
