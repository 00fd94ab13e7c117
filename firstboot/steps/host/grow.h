/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "steps/step.h"

/* Grows the root file system to the end of its disk: partition (growpart), physical and logical
 * volume, and file system (ext4, xfs, btrfs). Does nothing where there is nothing to gain. */
int grow_root(StepContext *c);
