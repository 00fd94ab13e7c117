/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* OUT/NAME: what a build leaves. Written as OUT/.NAME.new and exchanged in one rename, under a
 * lock, so that at every moment OUT/NAME is a whole image, the old one or the new, with whatever
 * else people keep there. */

#include "common/context.h"
#include "plan/plan.h"

typedef struct Output Output;

/* Touches nothing yet. Errors of all functions here are logged. */
int output_open(const char *out, const Plan *plan, bool want_proof, Output **ret);
Output *output_free(Output *o); /* removes an uncommitted draft */
DEFINE_CLEANUP(Output *, output_free);
#define _cleanup_output_free_ _cleanup_(output_freep)

const char *output_folder(const Output *o);
const char *output_draft(const Output *o);

/* 1 when OUT/NAME was made from the same plan, disk settings and tools, is proved where that is
 * wanted, and all its files are there with their sizes; 0 when a build is due. */
int output_is_current(Output *o, Context *ctx, const char *recipe_path);

/* Finishes what a killed build left in OUT, unless another one is at work there. */
int output_settle(Output *o);

/* Before the first stage: -EEXIST where OUT/NAME holds what a build must not replace. Finds out how
 * the file system replaces a folder. */
int output_check(Output *o);

int output_begin(Output *o);  /* waits for another build of the same image; empties the draft */
int output_commit(Output *o); /* syncs, replaces, carries over what is not of imgbuild's */

/* What an image is made of: plan, disk settings and tools tree. Stored as "identity" in the
 * manifest. Errors are not logged. */
int output_identity(const Plan *plan, const char *tools_digest, Digest ret);
