/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The root file system grown to the end of its disk. */

#include "steps/common/step.h"

/* Grows partition (growpart), physical and logical volume, and file system (ext4, xfs, btrfs).
 * Does nothing where there is nothing to gain. 0 or the step's failure. */
int grow_root(StepContext *c);
