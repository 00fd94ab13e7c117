/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Disks on which power went between their label and the group's metadata. lvm would use them again
 * only if forced to. */

#include "steps/scratch/volume.h"

/* Clears the labels of the plan's disks whose group was lost (DiskFacts.vg_lost). The disks are to
 * be held (hold.h), and on record. 0, or the step's failure where one has a group by now. */
int half_made_clear(const ScratchVolume *v);
