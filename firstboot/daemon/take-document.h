/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A new document of the configuration becomes what the engine goes by. */

#include "daemon/node.h"

/* Nothing may run: the node has failed for a reason that no step has, told once. NULL: there is
 * none (any more). */
void node_set_problem(Node *n, const char *code, char *const *errors);

/* Takes `document` (the reference, too): fits the node's state to its instance, lays out graph and
 * jobs. 0; 1 where it tells of errors, or its steps are no graph: they are the node's problem then,
 * and it has no jobs. Negative errno; where /run cannot be written that is the node's problem, too.
 * *told: whether settling was announced already, where a state is read. */
int node_take_document(Node *n, JobHost *host, json_object *document, bool *told);
