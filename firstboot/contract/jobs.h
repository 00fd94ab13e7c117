/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Jobs on this node, for which measurements wait. */

#include <stdbool.h>

/* Whether work is on this node: one of Slurm's slurmstepd processes, or a process of a pod's that
 * computes on a GPU or has an RDMA device open. What only watches GPUs (an exporter, a device
 * plugin) does neither. */
bool jobs_run(void);

/* Whether a process is root's, by its number in /proc: anybody's may have the name of a daemon. As
 * its status has it, for a process may have its folder in /proc be root's. One that cannot be read
 * is taken for root's. */
bool process_is_roots(const char *pid);
