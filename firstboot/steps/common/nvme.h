/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* NVMe namespaces as sysfs shows them: whether one is in this machine, and who made it. */

#include "shared/macro.h"

typedef struct Nvme {
        char *model, *serial;
        char *wwid;   /* NULL: the kernel knows none */
        char *vendor; /* of the controller on PCI, "0x144d"; NULL: not known */
        bool local;   /* it has controllers, all of them on PCIe */
} Nvme;

void nvme_done(Nvme *n);

/* Reads the namespace whose folder in sysfs is /sys/block/NAME. 1; 0 where that is no NVMe
 * namespace; -ENOMEM. */
int nvme_read(const char *folder, Nvme *ret);

/* Whether the model is one of a cloud's network volumes, which look like NVMe disks. */
bool model_is_network(const char *model);

/* Whether the controller is made of software (by a hypervisor or a DPU) and the model is none
 * that is known to be a local disk: a network volume may be behind it. */
bool nvme_is_emulated(const Nvme *n);
