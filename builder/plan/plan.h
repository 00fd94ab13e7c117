/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Recipe and lock to an ordered list of stages, each with a digest that is known before anything
 * runs:
 *
 *   base → kernel → packages (one an overlay, then the recipe's) → artifacts → compile → early
 * files and runs → initramfs → files → run → services → finalize
 *
 * Packages come before files, so that an overlay's file wins over a package's. The initramfs is
 * made before the ordinary files because it does not depend on them: editing one is no reason to
 * make it again. `files/` below the folders that an initramfs reads (see plan.c) counts as early. */

#include "store/digest.h"
#include "lock/lock.h"

typedef enum StageKind {
        STAGE_BASE,
        STAGE_PACKAGES,
        STAGE_ARTIFACTS,
        STAGE_COMPILE,
        STAGE_FILES,
        STAGE_RUN,
        STAGE_INITRAMFS,
        STAGE_SERVICES,
        STAGE_FINALIZE,
} StageKind;

typedef struct Stage {
        StageKind kind;
        char *id;                  /* "packages:slurm"; unique, what --stage and lock files name */
        const Overlay *overlay;    /* NULL for the recipe's own */
        size_t index;              /* COMPILE, RUN: which of the overlay's */
        bool early;                /* FILES: the early part only */
        const LockedStage *locked; /* BASE, PACKAGES, COMPILE */
        Digest digest;
} Stage;

/* Kinds whose stages have an entry in the lock. */
#define IN_PACKAGE_STAGE(kind) \
        ((kind) == STAGE_BASE || (kind) == STAGE_PACKAGES || (kind) == STAGE_COMPILE)

typedef struct Plan {
        const Recipe *recipe;
        const Lock *lock;
        Stage *stages;
        size_t n_stages;
        char **dpkg_options; /* dpkg-options.h: in effect wherever packages are installed */
        const char *kernel;  /* release, borrowed from the lock; NULL for a tree */
} Plan;

/* Stage ids that need locked packages, in order, with what they ask for: the resolver's input, so
 * that plan and lock can never disagree. Names may contain "${kernel}". */
typedef struct PackageRequest {
        char *id;
        char **packages;
        char *const *without;   /* the overlay's: packages that are taken for installed */
        const Overlay *overlay; /* whose repositories count from here on; NULL: none */
        bool throwaway;         /* compile: later stages do not have these packages */
} PackageRequest;
int plan_package_requests(const Recipe *recipe, PackageRequest **ret, size_t *ret_n);
void package_requests_free(PackageRequest *requests, size_t n);

/* -ESTALE where the lock lacks something the recipe asks for: resolve() first. Errors of the host's
 * files are logged. The plan borrows recipe and lock. */
int plan_new(const Recipe *recipe, const Lock *lock, Plan **ret);
const char *stage_kind_name(StageKind kind); /* "base", "packages", … */

/* Whether a path of the image (relative to its root) is something the initramfs is made from. */
bool plan_path_is_early(const char *path);

/* Whether stage i is made on the layer of stage `below`, and so depends on it. Every stage sees
 * all below it, but a compile stage sees of packages only those up to the last overlay that its
 * own requires, and artifacts and compiled files only of those: a driver is not compiled again
 * because another overlay installs one package more. */
bool plan_stage_sees(const Plan *p, size_t i, size_t below);

const Stage *plan_find(const Plan *p, const char *id);
Plan *plan_free(Plan *p);
DEFINE_CLEANUP(Plan *, plan_free);
#define _cleanup_plan_free_ _cleanup_(plan_freep)
