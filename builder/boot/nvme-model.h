/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Model names for emulated NVMe disks, which QEMU itself cannot set. */

#include "boot/vm.h"

#include <sys/types.h>

bool vm_wants_models(const VmConfig *c);

/* Writes the models of c's disks into a QEMU that was started paused and has not run yet. -ENOENT
 * where one of its controllers was not found, -EACCES or -EPERM where the host forbids it. */
int vm_set_models(pid_t qemu, const VmConfig *c);

/* What stands in QEMU's memory for a disk with this serial, for tests. */
void nvme_identify_pattern(
                const char *serial, char ret[static VM_NVME_SERIAL_MAX + VM_NVME_MODEL_MAX]);
