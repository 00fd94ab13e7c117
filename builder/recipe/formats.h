/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The tables of the file formats, recipe, overlay.json and cluster: every key, what its value may
 * be. docs/recipe.md, docs/overlay.md and docs/cluster.md describe each (a test compares them). */

#include "recipe/recipe.h"
#include "recipe/schema.h"

extern const Schema recipe_keys[];
extern const Schema overlay_keys[];
extern const Schema cluster_keys[];

typedef struct Distro {
        const char *name;
        Family family;
} Distro;
extern const Distro distros[]; /* ends with a NULL name */
