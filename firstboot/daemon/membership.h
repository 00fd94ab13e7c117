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
