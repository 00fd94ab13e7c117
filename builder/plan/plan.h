/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Recipe and lock to an ordered list of stages, each with a digest that is known before anything
 * runs:
 *
 *   base → kernel → packages (one an overlay, then the recipe's) → artifacts → compile →
 *   early files → early runs → initramfs → compile on the base → files → run → services → finalize
 *
 * Packages come before files, so that an overlay's file wins over a package's. The initramfs is
 * made before the ordinary files because it does not depend on them: editing one is no reason to
 * make it again. The types are in plan/model.h. */

#include "plan/model.h"
#include "store/store.h"

/* Loads the recipe, completes its lock where that lacks something (and writes it: the first build
 * of a recipe makes its lock file), and plans, as build, plan, check, shell and the tools tree all
 * need it. lock_path NULL: the recipe's own. Errors are logged. */
int lock_and_plan(Context *ctx, const char *recipe_path, const char *lock_path, Loaded *ret);
void loaded_done(Loaded *l);
#define _cleanup_loaded_ _cleanup_(loaded_done)

/* -ESTALE: the lock lacks something; resolve() first. Errors of the host's files are logged. */
int plan_new(const Recipe *recipe, const Lock *lock, Plan **ret);
Plan *plan_free(Plan *p);
DEFINE_CLEANUP(Plan *, plan_free);
#define _cleanup_plan_free_ _cleanup_(plan_freep)

/* The base will be made with the programs of this one, the tools' base as it is locked; digests
 * follow. Without mmdebstrap in it, the host's will. */
int plan_set_maker(Plan *p, const LockedStage *base);

/* The recipe of tools `of`, and its lock: beside the recipe `near` (may be NULL), in
 * ./images or DATADIR/images. -ENOENT. */
int tools_recipe_find(Context *ctx, const char *near, const char *of, char **ret, char **ret_lock);
char *tools_recipe(void); /* where none is near; NULL where there is none at all */

const Stage *plan_find(const Plan *p, const char *id);
const char *stage_kind_name(StageKind kind); /* "base", "packages", … */

/* Whether the stage fetches what no lock pins, so that its result may be another one each time. The
 * image then has a file with the ids of such stages, one a line. */
bool stage_uses_network(const Stage *s);
#define PLAN_NETWORK_MARK "usr/lib/imgbuild/not-reproducible"

/* Whether a path of the image (relative to its root) is something the initramfs is made from, so
 * that an overlay's file there is copied early. */
bool plan_path_is_early(const char *path);

/* Whether stage i is made on the layer of stage `below`, and so depends on it. Every stage sees
 * all below it, but a compile stage sees of packages only those up to the last overlay that its
 * own requires, and artifacts and compiled files only of those: a driver is not compiled again
 * because another overlay installs one package more. */
bool plan_stage_sees(const Plan *p, size_t i, size_t below);

/* Whether it is this stage that takes one of its overlay's artifacts: a source archive is its
 * compile stage's, all others the artifacts stage's. */
bool plan_stage_uses(const Stage *s, const Artifact *a);

/* record.c: what the recipe's stages were made of when their layers were last there, to tell why
 * they are made again. *ret is NULL before the first build; the caller puts it. */
int plan_record_read(Store *store, const Plan *p, json_object **ret);

/* Notes the stages 0…last whose layers are there; a flag each says which are not. 0 or -errno. */
int plan_record_write(Store *store, const Plan *p, const bool *missing, size_t last);

/* Why a layer that is not there is to be made: "its script changed", "zstd 1.5 → 1.6". NULL on out
 * of memory; the caller frees it. */
char *plan_why(const Plan *p, size_t i, json_object *record);
