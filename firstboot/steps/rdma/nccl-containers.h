/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What /etc/nccl.conf says, for programs in containers, which do not see it. */

#include "steps/common/step.h"

/* conf: the file's text. Writes PATH_CDI_NCCL and PATH_NCCL_POD, where they say something else.
 * 0 or the step's failure. */
int rdma_write_nccl_containers(StepContext *c, const char *conf);
