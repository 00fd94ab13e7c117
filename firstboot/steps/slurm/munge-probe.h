/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* munged asked for a credential, apart from the controller: scontrol tries a munged that is away
 * for a minute and one that hangs for seven, and then speaks of the controller. */

#include "steps/slurm/state.h"

/* 0, or the step's failure: slurm.munge where munged is away, slurm.munge-slow where it does not
 * answer in time. Waits, as all of the step, until slurm.give_up. */
int munge_probe(Slurm *s);
