/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which attempt of the step this is, as firstbootd's status has it. */

#include "steps/common/step.h"

/* Sets the context's seed and whether the attempt is a slow one. No status: it is the first. */
void attempt_look_up(StepContext *c);

/* How long servers are asked in this attempt: "give_up" of the section (a default where it has
 * none), and in a slow attempt not longer than RETRY_SLOW_TRY_USEC. */
uint64_t attempt_give_up(const StepContext *c, json_object *section, uint64_t fallback_usec);
