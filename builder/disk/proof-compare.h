/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One disk in a running appliance against the tree that it was made from. */

#include "disk/disk.h"
#include "disk/proof-sample.h"
#include "inspect/inspect.h"

/* The tree's side of it. Errors are logged. */
int proof_samples(Context *ctx, const Plan *plan, char *const *layers, Samples *ret);

/* Is told how many of the files are compared. */
typedef struct ProofWatch {
        void (*progress)(size_t done, size_t total, void *userdata);
        void *userdata;
} ProofWatch;

/* 0: nothing differs; -EIO: something does, logged; -EAGAIN: the appliance died, so nobody knows;
 * -ECANCELED. Nothing stays mounted. */
int proof_compare(guestfs_h *g, const char *device, const Recipe *recipe, const DiskInfo *disk,
                const Samples *samples, const ProofWatch *watch);
