/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* munge: the credentials that Slurm's daemons trust each other by. */

#include "steps/common/step.h"

/* Puts the munge key in place (from slurm.munge_key, else slurm.munge_key_file, else one that is
 * there) and has munged running with it. 0 or the step's failure. */
int munge_prepare(StepContext *c);
