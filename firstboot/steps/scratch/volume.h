/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The striped logical volume with its file system: what a plan asks for, done. From the first
 * change until the file system is finished the volume group has the tag "incomplete". */

#include "steps/common/step.h"
#include "steps/scratch/lvm.h"
#include "steps/scratch/plan.h"

typedef struct ScratchVolume {
        StepContext *context;
        const Lvm *lvm;
        const DiskFacts *facts;
        const ScratchPlan *plan;
        const char *vg, *lv; /* names of group and volume */
        const char *label, *filesystem;
        const char *machine; /* its identity, for the group's tag; NULL: not known */
        uint64_t stripe_bytes;
} ScratchVolume;

/* What lvm knows of the disks (lvm_report). 0 or the step's failure. */
int scratch_volume_report(const ScratchVolume *v, json_object **ret);

/* Activates the volume that is there and waits for its device. 0 or the step's failure. */
int scratch_volume_activate(const ScratchVolume *v, const char *device);

/* Before a rebuild: nothing of the group may be in use. 0 or the step's failure. */
int scratch_volume_deactivate(const ScratchVolume *v);

/* Makes group (SCRATCH_CREATE) or clears it (SCRATCH_REBUILD), then volume and file system.
 * Whatever is on the disks of the plan is lost: they are to be held (hold.h), and on record. 0 or
 * the step's failure. */
int scratch_volume_make(const ScratchVolume *v, const char *device);
