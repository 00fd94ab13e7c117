/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From a recipe's path to its plan, as build, plan, check, shell and the tools tree all need it. */

#include "common/context.h"
#include "plan/plan.h"

typedef struct Loaded {
        Recipe *recipe;
        Lock *lock;
        Plan *plan;
} Loaded;

/* Loads the recipe, completes its lock where that lacks something (and writes it: the first build
 * of a recipe makes its lock file), and plans. lock_path NULL: the recipe's own. Errors are
 * logged. */
int plan_load(Context *ctx, const char *recipe_path, const char *lock_path, Loaded *ret);
void loaded_done(Loaded *l);
#define _cleanup_loaded_ _cleanup_(loaded_done)
