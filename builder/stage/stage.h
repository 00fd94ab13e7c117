/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Makes one stage's layer from the layers below it. */

#include "common/context.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"

/* Builds stages up to and with number `last` (plan->n_stages - 1: all) that the store lacks.
 * Downloads first, all at once. Errors are logged, with the last 40 lines of a failing command and
 * the path of its whole log. */
int stages_build(Context *ctx, const Plan *plan, size_t last);

/* Trees of stages 0…last, lowest first; for sandbox layers. */
int stages_layers(Context *ctx, const Plan *plan, size_t last, char ***ret);

/* One command of a stage in a sandbox: output to the stage's log, last lines shown on failure,
 * `ret_status` NULL: a non-zero exit is logged and -EIO. */
int stage_command(Context *ctx, const char *stage_id, const Sandbox *sandbox,
                const SpawnOptions *options, char *const argv[], int *ret_status);
