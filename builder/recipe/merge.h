/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Lays one JSON object over another. */

#include "recipe/problems.h"

/* Lays a recipe that has been validated over what it extends (an empty object for the first):
 * objects merge, lists append, anything else replaces. An item "-x" of a list removes x, which must
 * be there; what is there already is not added again. In "node", whose content is not ours to
 * judge, lists may hold anything and repeat it, "-x" is an ordinary string where there is no x, and
 * null is a value like others. "extends" is left out. `file` is where `from` was read. 0 or
 * -ENOMEM. */
int merge_recipe(Problems *p, const char *file, json_object *into, json_object *from);

/* Lays one layer of node config over another, by the rule that the node itself has for its layers:
 * objects merge, null takes the key away, anything else replaces, lists too. 0 or -ENOMEM. */
int merge_layer(json_object *into, json_object *from);
