/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Jobs on this node, for which measurements wait. */

#include <stdbool.h>

/* Whether a job of Slurm's is on this node: one of its slurmstepd processes is. */
bool watch_jobs_run(void);
