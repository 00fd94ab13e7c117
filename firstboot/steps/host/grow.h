/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* File systems grown to the end of their disk, the root file system before all. */

#include "steps/common/step.h"

/* Grows, for what is mounted there, the partition (growpart), physical and logical volume, and the
 * file system (ext4, xfs, btrfs). Does nothing where there is nothing to gain. 0 or the step's
 * failure. */
int grow_filesystem_at(StepContext *c, const char *where);
