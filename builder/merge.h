/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Lays one JSON object over another: objects key by key, lists appended, anything else replaced. */

#include "problems.h"

/* Lays a recipe that has been validated over what it extends (an empty object for the first). An
 * item "-x" of a list removes x, which must be there; what is there already is not added again.
 * "extends" is left out, "node" is merged by merge_node(). `file` is where `from` was read. 0 or
 * -ENOMEM. */
int merge_recipe(Problems *p, const char *file, json_object *into, json_object *from);

/* The same for node config, whose content is not ours to judge: a null removes the key; "-x"
 * removes the string x where it is in the list, and is an ordinary string where not; lists may
 * repeat things. */
int merge_node(json_object *into, json_object *from);
