/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The disks held from the moment they are looked at for the last time until the work is done. */

#include "steps/scratch/volume.h"

typedef struct Hold {
        int *locks; /* udev and others that lock keep away */
        int *alone; /* nobody else can mount a disk or build upon it */
        size_t n_locks, n_alone;
} Hold;

void hold_done(Hold *h);

/* Takes the disks of the plan for ourselves alone and probes them once more. 0, or the step's
 * failure where one is in use or holds anything else than it did when the plan was made. */
int hold_disks(const ScratchVolume *v, Hold *ret);

/* The step's failure for a disk of the plan that is not any more what it was when the plan was
 * made. */
int hold_changed(const ScratchVolume *v, const Disk *disk, const char *device);

/* Lets lvm open them for writing, which it does for itself alone too; the locks stay. */
void hold_let_write(Hold *h);
