/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* /etc/nccl.conf as the rdma step leaves it. */

#include "steps/common/step.h"
#include "steps/rdma/check.h"
#include "steps/shape/shape.h"

/* Writes what the verdict's ports, the configuration and the shape (NULL: unknown) say, where the
 * file says something else. 0 or the step's failure. */
int rdma_write_nccl_conf(StepContext *c, const Shape *shape, const RdmaVerdict *v);
