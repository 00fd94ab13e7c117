/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which disks the volume was made of, on record before the first byte is written. */

#include "steps/scratch/plan.h"

/* Reads the record of this instance of the machine; none, or one of another instance, leaves *ret
 * empty. 0 or -ENOMEM; the caller frees the serials. */
int scratch_record_load(const char *instance_id, ScratchRecord *ret);

/* Writes it, durably: the disks that the plan uses; unfinished before the first byte is written to
 * them, not so once the volume is there. 0 or negative errno. */
int scratch_record_save(const char *instance_id, const Disks *disks, const ScratchPlan *plan,
                bool unfinished);
