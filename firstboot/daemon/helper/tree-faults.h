/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What configuration and steps ask of the tree they are in, and is not there. */

#include "contract/config.h"
#include "contract/graph.h"

/* Adds each fault to *faults: a step's program that is missing or cannot be executed, a time zone
 * that the tree does not have. 0 or -ENOMEM. */
int tree_faults(const Config *c, const Graph *g, char ***faults);
