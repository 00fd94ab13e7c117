/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* ncclbench pairs: one process a node; finds the nodes that spoil a job.
 *
 * Each node measures with one partner at a time (all pairs of a round at once). A pair that is
 * slow, wrong or hangs makes both suspects; then each suspect measures with a node that passed,
 * and that names the guilty one. Every measurement is a run of this same program with two
 * processes. */

#include "ncclbench/launch.h"

/* Returns the exit status. */
int pairs_run(const Options *o, const Launch *launch);
