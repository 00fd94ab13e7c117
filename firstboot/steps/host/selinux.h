/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* SELinux's booleans, for this boot: host.selinux_booleans, and use_nfs_home_dirs where home
 * folders come by NFS. Where SELinux is off, or not in this kernel, there is nothing to do. */

#include "steps/common/step.h"

/* Switches what is not as wanted. What the policy does not know degrades, what cannot be switched
 * fails: recorded. 0 or -errno. */
int selinux_booleans_apply(StepContext *c);

/* Degrades for each that is another way. Returns how many were looked at, or -ENOMEM. */
int selinux_booleans_check(StepContext *c);
