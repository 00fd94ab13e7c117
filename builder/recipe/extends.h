/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A recipe file with all it extends, each validated on its own. */

#include "recipe/problems.h"

typedef struct RecipeFile {
        char *shown; /* as messages name it */
        char *path;  /* absolute; the folder resolved, the name as given */
        char *real;  /* resolved, to know a file again */
        json_object *json;
} RecipeFile;

typedef struct RecipeChain {
        RecipeFile *files; /* [0] is the recipe, each extends the next */
        size_t n;
        bool broken; /* the last file extends what could not be read */
} RecipeChain;

/* Reads the chain as far as it goes; what is wrong, a missing file too, is added to p. 0 or
 * -ENOMEM. The chain is empty where the recipe could not be read. */
int chain_load(Problems *p, const char *path, RecipeChain *ret);

void chain_done(RecipeChain *c);
#define _cleanup_chain_ _cleanup_(chain_done)

/* File name without ".json", or NULL where it does not end so (or on out of memory). */
char *recipe_stem(const char *path);
