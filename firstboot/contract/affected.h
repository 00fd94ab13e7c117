/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which steps a change of the configuration concerns. */

#include "contract/graph.h"

/* The names of the steps of g that read a section in which the two configurations differ, and of
 * those that wait for them, in g's order. A step reads its own section, what "reads" of its file
 * names, and its part of "steps"; a site's step whose file has no "reads" may read everything. 0 or
 * -ENOMEM; the caller frees. */
int steps_affected(const Graph *g, json_object *before, json_object *after, char ***ret);
