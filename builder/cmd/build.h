/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* imgbuild build, as its files share it: build.c bakes one recipe, build-many.c several at once. */

#include "cmd/verb.h"
#include "recipe/recipe.h"

#define BUILDS_MAX 64 /* recipes in one call */

typedef struct BuildOptions {
        const char *output;
        char **secrets; /* NAME=FILE */
        bool no_proof, force, locked, drop_downloads, error_shell;
} BuildOptions;

/* Bakes one recipe: 0, or -errno (logged). */
typedef int (*build_function)(Context *ctx, const BuildOptions *o, const char *recipe_path);

/* Several, each in a process of its own, as many at once as processors and memory allow. A recipe
 * that is wrong ends it before anything is done; a build that fails keeps no other. An exit code
 * (the first that is not 0, in the order of recipes), or -errno (logged). */
int build_many(VerbCall *call, build_function build);
