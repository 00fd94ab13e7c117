/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The node as a member of the cluster: in service, or drained with our reason. */

#include "steps/common/health.h"
#include "steps/slurm/state.h"

#include <systemd/sd-bus.h>

#define SLURM_HEALTH (&(const HealthCodes) { "slurm.check-failed", "slurm.check-unavailable" })

/* Sees to it that a node with a fault gets no job: drains it, with our reason, unless it is drained
 * already with somebody else's. Before slurmd is started, and once more after it. Where that cannot
 * be had slurmd is stopped. Returns 0, after slurmd's start with the step's verdict, or the step's
 * failure. */
int slurm_ensure_drained(Slurm *s, sd_bus *bus);

/* The same without waiting, for what Slurm calls itself (hook-main.c). 0: drained with our reason;
 * 1: with somebody else's. Negative errno; -EBUSY where it is DOWN, for somebody else's. */
int slurm_drain_now(const char *node, const char *drain);

/* Waits until the node is registered, and lifts a drain of ours. 0 or the step's failure. */
int slurm_ensure_in_service(Slurm *s, sd_bus *bus);

/* Stops slurmd, and takes its permit away. */
int slurmd_stop(sd_bus *bus);
