/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The way to the controller, proved before slurmd goes it. */

#include "steps/slurm/state.h"

/* Waits until a controller answers with a credential that we can decode and a clock like ours. 0 or
 * the step's failure. */
int slurm_reach_controller(Slurm *s);
