/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The node as the controller has it: drained with a reason of ours, or in service. */

#include "steps/slurm/state.h"
#include <systemd/sd-bus.h>

/* Sets the node's state by scontrol. -EIO where the controller refuses, with its words in
 * *ret_words (may be NULL; the caller frees it). */
int slurm_update_node(const Slurm *s, const char *state, const char *reason, char **ret_words);

/* Takes away slurmd's permit to start, and stops it. As unit_job(). */
int slurmd_stop(sd_bus *bus);

/* Waits until the controller itself shows the node drained; else slurmd does not stay. 0 or the
 * step's failure. */
int slurm_ensure_drained(Slurm *s, sd_bus *bus);

/* Waits until the node is registered, and lifts a drain of ours. Records the verdict. */
int slurm_ensure_in_service(Slurm *s, sd_bus *bus);
