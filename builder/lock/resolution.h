/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One resolving, as its files share it: kept.c knows what holds still, solve.c asks apt for the
 * rest, resolve.c decides between them. All return 0 or -errno, logged, unless said. */

#include "lock/internal.h"

typedef struct Resolution {
        Context *ctx;
        const Recipe *recipe;
        const Lock *old;
        const ResolveOptions *options;
        PackageRequest *requests;
        size_t n;
        Digest *digests;
        LockedImage image; /* the base's; name NULL: it has none */
        char **moving;     /* "ORIGIN:FOLDER" of source packages that --update NAME lets go */
} Resolution;

bool resolution_updates_all(const Resolution *x);

/* image.c. Finds what the lock is to say of the recipe's base image, x->image, and tells the recipe
 * its distribution and digest. Returns 1 where it is not what the lock said before. */
int resolution_image(Resolution *x, Recipe *recipe);

/* Where the store has its database of packages: dpkg's status file, or rpm's. The caller
 * frees *ret_path. */
int resolution_image_packages(const Resolution *x, char **ret_path);

/* With --locked: as the lock is, or not at all. Logs and returns -EINVAL. */
int resolution_refuse_change(const Resolution *x, const char *what);

/* From names on the command line to source packages, x->moving. */
int resolution_find_moving(Resolution *x);
int resolution_package_moves(
                const Resolution *x, const LockedPackage *p); /* 1, 0, -ENOMEM (not logged) */

/* Whether the lock answers request i as it stands, its predecessors aside. 1, 0, -ENOMEM (not
 * logged). */
int resolution_keeps(const Resolution *x, size_t i);
int resolution_wants_packages(const Resolution *x); /* whether any stage needs apt; the same */

bool locked_stages_equal(const LockedStage *a, const LockedStage *b);
int locked_stage_copy(const LockedStage *from, LockedStage *to);

/* Fills `l`: with what is locked, or with what apt says. */
int resolution_keep_stages(const Resolution *x, Lock *l);
int resolution_solve(const Resolution *x, Lock *l);
