/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Node configuration judged before anything is built, by the rules that the node itself has for it
 * (contract/config.h). */

#include "contract/config.h"
#include "recipe/model.h"
#include "recipe/problems.h"

/* Fills in defaults and checks; all faults are in c->errors, warnings are logged. steps: those of
 * the site's own that are known here; each may have a section. A section that is nobody's, and near
 * to none that is known, may be that of another step: it is free here, and the tree's own check,
 * which has all step files, judges it. 0 or -ENOMEM. */
int node_config_finish(Config *c, char *const *steps);

/* What config_finish() says of one of the files, "FILE: PATH: what", becomes a problem of that
 * file, its path with the prefix before it. False where it is of none of them. */
bool node_config_add_problem(
                Problems *p, char *const *files, const char *prefix, const char *error);

/* Where c has a time zone that this machine's tzdata does not know, *ret says so: mostly it is
 * misspelt, but the image's zones are those of its own tzdata. NULL: all is well. 0 or -ENOMEM. */
int node_config_unknown_zone(const Config *c, char **ret);

/* What the steps of its overlays require. 0 or -ENOMEM. */
int node_steps_check(Problems *p, const Recipe *recipe);

/* The configuration that the recipe bakes: that of its overlays, under own, the recipe's own (may
 * be NULL), which was read from file. 0 or -ENOMEM. */
int node_config_check(Problems *p, const Recipe *recipe, const char *file, json_object *own);
