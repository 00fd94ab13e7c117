/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A recipe on its way from its files to a Recipe. */

#include "recipe/extends.h"
#include "recipe/recipe.h"
#include "recipe/schema.h"

typedef struct Building {
        Problems *problems;
        const RecipeChain *chain;
        const char *file;          /* that the person named, for messages about the merged recipe */
        char *const *overlay_dirs; /* as recipe_load() was given them */
        Recipe *recipe;
        json_object *merged;
} Building;

/* Loads the overlays that the recipe names and all that these require, and checks that they can be
 * in one image. 0 or -ENOMEM. */
int build_overlays(Building *b);

/* secrets.c. Which overlay gets which secret, and whether just that one asks for it. 0 or
 * -ENOMEM. */
int build_secrets(Building *b);

/* base-fields.c. A path that a file has under `key` of `o` is relative to that file, whichever
 * extends it: makes it absolute. 0 or -ENOMEM. */
int recipe_file_resolve(const RecipeFile *f, json_object *o, const char *key);

/* A string that has to be there, else "missing: WHAT" is a problem. `where` is the path of `o`. 0
 * or -ENOMEM; the caller frees *ret. */
int base_take(Building *b, json_object *o, const char *where, const char *key, const char *what,
                char **ret);

/* base-image.c. Before a file is merged: what it says of an image, in place of what it extends says
 * of a distribution. 0 or -ENOMEM. */
int base_image_prepare(Building *b, const RecipeFile *f);
int base_image_build(Building *b, json_object *base);

/* base-el.c. The same for a base of family el: where its repositories' keys are. */
int base_el_prepare(const RecipeFile *f);
int base_el_build(Building *b, json_object *base);
/* What a base of family debian has no use for. 0 or -ENOMEM. */
int base_el_refuse(Building *b, json_object *base);
