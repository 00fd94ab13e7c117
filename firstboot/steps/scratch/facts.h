/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks at the local disks: signatures, file systems with our label on or above them, LVM's view,
 * who uses them. Reads only. */

#include "steps/scratch/lvm.h"
#include "steps/scratch/plan.h"

/* One entry per disk, in the disks' order; the caller frees each with disk_facts_done(), and the
 * array. lvm NULL: LVM is not asked (its physical volumes are then foreign). */
int scratch_facts(const Disks *disks, const Lvm *lvm, const char *label, DiskFacts **ret);

/* Fills signatures and data of one disk, through its open descriptor. 0 or negative errno. */
int disk_probe(int fd, DiskFacts *f);
