/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Block devices as sysfs shows them: which disks are local NVMe, what stands on a disk, what a
 * file system stands on. */

#include "shared/macro.h"
#include "shared/strv.h"

typedef struct Disk {
        char *name; /* nvme0n1 */
        char *path; /* /dev/nvme0n1 */
        char *model, *serial;
        uint64_t bytes;
} Disk;

typedef struct Disks {
        Disk *items; /* sorted by serial, then by namespace: names may change from boot to boot */
        size_t n;
} Disks;

void disks_done(Disks *d);
#define _cleanup_disks_ _cleanup_(disks_done)

/* All local NVMe namespaces but those that carry the running system: transport PCIe, no network
 * volume of a cloud, and, where patterns is not NULL, a model that matches one of them. */
int disks_local(char *const *patterns, Disks *ret);

/* The device node to open, links followed; NULL on out of memory. The caller frees it. */
char *disk_device(const Disk *d);

/* Whether the model is one of a cloud's network volumes, which look like NVMe disks. */
bool model_is_network(const char *model);

/* Names of what a device (its folder in sysfs) directly stands on: for device mapper and md. */
int block_slaves(const char *path, char ***ret_names);

/* Names of the whole disks below a device number (partitions, device mapper and md are followed
 * down). */
int disks_below(unsigned major, unsigned minor, char ***ret_names);

/* Names of the whole disks that carry the running system: /, /usr, /boot, /var and swap. */
int disks_of_system(char ***ret_names);

/* Device numbers of what stands directly on a disk: partitions and holders (dm, md); "MAJOR:MINOR"
 * each. */
int disk_holders(const char *name, char ***ret_holders);

/* Whether two paths are of the same block device. */
bool same_block_device(const char *a, const char *b);
