/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* File systems mounted through systemd, by transient mount units. */

#include "shared/macro.h"
#include <systemd/sd-bus.h>

typedef struct MountUnit {
        const char *what, *where, *type, *options, *description;
        bool network;          /* ordered after network-online.target */
        uint64_t timeout_usec; /* of the mount program */
} MountUnit;

/* The unit's name for a mount point: "/mnt/localdisk" → "mnt-localdisk.mount". NULL on out of
 * memory. */
char *mount_unit_name(const char *where);

/* Builds the StartTransientUnit call for a mount; the caller unrefs it. */
int mount_unit_message(sd_bus *bus, const MountUnit *m, sd_bus_message **ret);

/* Mounts by a transient unit, or by the unit that is there already (from fstab), and waits.
 * Returns as unit_job(). */
int mount_unit_start(sd_bus *bus, const MountUnit *m, char **ret_result);
