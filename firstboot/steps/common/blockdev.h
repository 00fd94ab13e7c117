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
        char *wwid; /* NULL: not known */
        bool twice; /* another namespace has the same wwid */
} Disk;

typedef struct Disks {
        Disk *items; /* sorted by serial, then by namespace: names may change from boot to boot */
        size_t n;
        size_t n_others; /* local ones that match no pattern, or carry the running system */
        char **emulated; /* "/dev/nvme0n1 (model M)": only a pattern makes them count */
} Disks;

void disks_done(Disks *d);
#define _cleanup_disks_ _cleanup_(disks_done)

/* All local NVMe namespaces but those that carry the running system: all controllers on PCIe, no
 * network volume of a cloud, and a model that matches one of the patterns; where there are none, no
 * controller of a hypervisor's or a DPU's, behind which anything may be. */
int disks_local(char *const *patterns, Disks *ret);

/* The device node to open, links followed; NULL on out of memory. The caller frees it. */
char *disk_device(const Disk *d);

/* Device numbers of what stands directly on a disk: partitions and holders (dm, md); "MAJOR:MINOR"
 * each. */
int disk_holders(const char *name, char ***ret_holders);

/* Whether two paths are of the same block device. */
bool same_block_device(const char *a, const char *b);
