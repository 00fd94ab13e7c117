/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* User data that makes volumes of local disks by itself, as documents for other images have it: it
 * goes first, and what it made is taken as it is. */

#include "steps/common/blockdev.h"
#include "steps/common/step.h"
#include "steps/scratch/plan.h"

/* The first command that makes volumes or file systems ("vgcreate", "mkfs.xfs") in what cloud-init
 * runs in this boot; *ret is NULL where there is none, or no cloud-init. 0 or -ENOMEM; the caller
 * frees it. */
int user_data_find(char **ret);

/* Waits until cloud-init has run user data, at most that long; 0, or the step's failure. User data
 * that itself waits for the node never ends so: that is logged at once, and is in the failure. */
int user_data_wait(StepContext *c, const char *command, uint64_t timeout_usec);

/* What is mounted at `where` and stands on local disks alone is the volume, whatever its label:
 * noted in those disks' facts. 0 or -ENOMEM. */
int user_data_adopt(const Disks *disks, const char *where, DiskFacts *facts);
