/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Verdicts become the node's history. */

#include "daemon/node.h"

/* Adds the verdict and the steps' key figures to the history; what is slower than it used to be is
 * told to the journal. */
void past_add_verdict(const Node *n);
