/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A root file system that cannot be written to, as after an error of its disk. */

#include "steps/common/step.h"

/* Whether the file system of the agent's state is mounted read-only. */
bool host_is_read_only(void);

/* The failure of step and check: nothing else of such a node can be relied on. */
int host_fail_read_only(StepContext *c);
