/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The tables of the two file formats, recipe and overlay.json: every key, what its value may be.
 * docs/recipe.md and docs/overlay.md describe each (a test compares them). */

#include "recipe/recipe.h"
#include "recipe/schema.h"

extern const Schema recipe_keys[];
extern const Schema overlay_keys[];

typedef struct Distro {
        const char *name;
        Family family;
} Distro;
extern const Distro distros[]; /* ends with a NULL name */
