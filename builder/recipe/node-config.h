/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Node configuration judged before anything is built, by the rules that the node itself has for it
 * (contract/config.h). */

#include "contract/config.h"
#include "recipe/model.h"
#include "recipe/problems.h"

/* Fills in defaults and checks; all faults are in c->errors. A section that firstboot does not
 * know, and that is near to none that it knows, may be that of a site's step: it is free here, and
 * the tree's own check, which has all step files, judges it. 0 or -ENOMEM. */
int node_config_finish(Config *c);

/* The configuration that the recipe bakes: that of its overlays, under own, the recipe's own (may
 * be NULL), which was read from file. 0 or -ENOMEM. */
int node_config_check(Problems *p, const Recipe *recipe, const char *file, json_object *own);
