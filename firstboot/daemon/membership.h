/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The steps that put the node into a cluster (slurm, kubernetes), and alone talk to whoever sends
 * it work. */

#include "shared/macro.h"

#define MEMBERSHIPS 2

const char *membership_step(size_t i); /* i < MEMBERSHIPS */

/* Whether the step is one of them and has let its daemon run in this boot, so that work may come:
 * from then on it holds the node back where something is wrong, whatever else fails. */
bool membership_is_let(const char *step);

/* Whether step i has nothing to do here, so that its daemon is left to whoever starts it by hand:
 * for a node that is ready. */
void membership_leave(size_t i, bool left);
