/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* systemd units from a step: started and waited for, each call with a time limit. */

#include "shared/macro.h"
#include <systemd/sd-bus.h>

/* Opens the system bus and subscribes to systemd's signals; caller unrefs. */
int unit_bus(sd_bus **ret);

/* A job of systemd's that is under way. */
typedef struct UnitWait UnitWait;
UnitWait *unit_wait_free(UnitWait *w);
DEFINE_CLEANUP(UnitWait *, unit_wait_free);

/* Asks for a job and does not wait for its end; method as below. The limit is the answer's. Errors
 * as below. The caller frees *ret, at any time. */
int unit_begin(sd_bus *bus, const char *method, const char *unit, uint64_t timeout_usec,
                char **ret_result, UnitWait **ret);

/* Waits until the job is over. As unit_job(). */
int unit_wait(UnitWait *w, uint64_t timeout_usec, char **ret_result);

/* method: StartUnit, RestartUnit, ReloadOrRestartUnit, StopUnit. Waits until the job is over. 0:
 * it went well; -EIO: the job failed, with *ret_result (may be NULL) its result or systemd's
 * words, which the caller frees; -ENOENT: no such unit; -ETIMEDOUT. */
int unit_job(sd_bus *bus, const char *method, const char *unit, uint64_t timeout_usec,
                char **ret_result);

/* The unit's ActiveState ("active", "failed" …), which the caller frees. Negative errno. */
int unit_active_state(sd_bus *bus, const char *unit, char **ret);
/* False where systemd does not answer, too. */
bool unit_is_active(sd_bus *bus, const char *unit);

/* Sends a signal to the unit's main process. 0 or negative errno. */
int unit_signal(sd_bus *bus, const char *unit, int signal);

typedef struct MountUnit {
        const char *what, *where, *type, *options, *description;
        bool network;          /* ordered after network-online.target */
        uint64_t timeout_usec; /* of the mount program */
} MountUnit;

/* The unit's name for a mount point: "/mnt/localdisk" → "mnt-localdisk.mount". NULL on out of
 * memory. */
char *unit_mount_name(const char *where);

/* Builds the StartTransientUnit call for a mount; caller unrefs. */
int unit_mount_message(sd_bus *bus, const MountUnit *m, sd_bus_message **ret);

/* Mounts by a transient unit, or by the unit that is there already (from fstab), and waits. As
 * unit_job(). */
int unit_mount(sd_bus *bus, const MountUnit *m, char **ret_result);

/* Whether something is mounted at a path, and what ("/dev/…", "server:/export"); *ret_source may
 * be NULL. */
bool mounted_at(const char *where, char **ret_source);
