/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the running system stands on: from a file system down to whole disks, whatever lies between:
 * partitions, device mapper, md, loop devices, file systems of several devices. */

#include "shared/macro.h"
#include "shared/strv.h"
#include "steps/common/mount-table.h"

/* Names of what a device (its folder in sysfs) directly stands on: for device mapper and md. */
int block_slaves(const char *path, char ***ret_names);

/* Names of the whole disks below a device number. */
int disks_below(unsigned major, unsigned minor, char ***ret_names);

/* The folder in sysfs of the device that a file system is on: by its number or, where that is of no
 * device (btrfs), by the source in the table of mounts. NULL where there is none. The caller frees
 * it. */
char *mount_device_folder(const Mount *m);

/* Names of the whole disks that carry the running system: /, /usr, /boot, /var and the like, and
 * swap. */
int disks_of_system(char ***ret_names);
