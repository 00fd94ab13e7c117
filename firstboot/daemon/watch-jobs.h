/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Jobs on this node, for which measurements wait. */

#include <stdbool.h>

/* Whether work is on this node: one of Slurm's slurmstepd processes, or a process of a pod's that
 * computes on a GPU or has an RDMA device open. What only watches GPUs (an exporter, a device
 * plugin) does neither. */
bool watch_jobs_run(void);
