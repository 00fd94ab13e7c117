/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What an image is to be: a recipe (images/x.json), what it extends, and the overlays it names,
 * read, merged, checked and put in order. recipe_load() gives plain data (recipe/model.h) that the
 * other rooms may trust: names lead nowhere else, scripts are there and executable, nothing has
 * control characters. docs/recipe.md and docs/overlay.md describe the two formats. */

#include "recipe/cluster-file.h"
#include "recipe/model.h"

/* Reads a recipe with all it extends and all its overlays. overlay_dirs: folders searched for
 * overlays, first hit wins; NULL: "../overlays" beside the recipe's folder, then DATADIR/overlays.
 * Every error is logged ("FILE:LINE:COLUMN: …" for syntax, "FILE: $.path: …" for meaning), all of
 * them in one go. Returns -EINVAL then (a missing recipe file is an error like others), -ENOMEM. */
int recipe_load(const char *path, char *const *overlay_dirs, Recipe **ret);

/* The merged recipe as one JSON object, for `imgbuild plan --json` and the manifest. The caller
 * puts it. */
int recipe_to_json(const Recipe *r, json_object **ret);

/* "${release}" in the repositories of overlays, where base.release is known by now; again where it
 * is known already: nothing. -ENOMEM. */
int recipe_expand_release(Recipe *recipe);

/* Of base.image: whether it is a URL; and that, or the file's name, for locks and messages on other
 * hosts. */
bool recipe_image_is_url(const Recipe *r);
const char *recipe_image_name(const Recipe *r);

/* Which family the distribution of this name is of; false: no recipe can be of it. */
bool distro_family(const char *name, Family *ret);

/* The program of the image that makes this environment, as one of the overlays that fill it says;
 * "python3" where none does. */
const char *recipe_interpreter(const Recipe *recipe, const char *environment);

/* Whether `overlay` is `other` or requires it, itself or through others. */
bool recipe_overlay_needs(const Overlay *overlay, const Overlay *other);

/* The names of the units in the overlay's files/. 0 or -ENOMEM; the caller frees them. */
int recipe_overlay_units(const Overlay *overlay, char ***ret);

/* Whether it has a secret of this name, for `imgbuild build --secret`. */
bool recipe_names_secret(const Recipe *r, const char *name);

Recipe *recipe_free(Recipe *r);
DEFINE_CLEANUP(Recipe *, recipe_free);
#define _cleanup_recipe_free_ _cleanup_(recipe_freep)

/* Checks node configuration: the files are its layers, weakest first, each JSON as
 * /etc/firstboot/conf.d has it, or user data in JSON with the key "firstboot". All faults are
 * logged. 0, -EINVAL where there are some, -ENOMEM. */
int node_files_check(char *const *paths);

/* What recipes, overlays and clusters may hold, as JSON Schema (draft 2020-12), made from the
 * tables that check them. What spans several keys or files (an overlay that is not there) no schema
 * says. 0 or
 * -ENOMEM; the caller puts *ret. */
int recipe_json_schema(json_object **ret);
int overlay_json_schema(json_object **ret);
int cluster_json_schema(json_object **ret);
