/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A plan in memory. It borrows recipe and lock. */

#include "lock/lock.h"
#include "store/digest.h"

typedef enum StageKind {
        STAGE_BASE,
        STAGE_IMAGE, /* instead of it: a vendor's image, imported */
        STAGE_PACKAGES,
        STAGE_ARTIFACTS,
        STAGE_COMPILE,
        STAGE_FILES,
        STAGE_RUN,
        STAGE_INITRAMFS,
        STAGE_PYTHON,
        STAGE_SERVICES,
        STAGE_FINALIZE,
} StageKind;

typedef struct Stage {
        StageKind kind;
        char *id;                  /* "packages:slurm"; unique, what --stage and lock files name */
        const Overlay *overlay;    /* NULL: the recipe's own; PYTHON: the first that fills it */
        size_t index;              /* COMPILE, RUN: which of the overlay's */
        bool early;                /* FILES: the early part only; RUN: before the initramfs */
        const LockedStage *locked; /* BASE, PACKAGES, COMPILE */
        Digest digest;
        json_object *inputs; /* what the digest is of, its parents aside: label → value */
} Stage;

/* Kinds whose stages have an entry in the lock. */
#define IN_PACKAGE_STAGE(kind) \
        ((kind) == STAGE_BASE || (kind) == STAGE_PACKAGES || (kind) == STAGE_COMPILE)

/* Recipes of tools: of what writes and boots disks, and makes bases; of what makes those of family
 * el. */
#define TOOLS "tools"
#define TOOLS_EL "tools-el"
static inline const char *tools_of_base(const Recipe *recipe) {
        return recipe->family == FAMILY_EL ? TOOLS_EL : TOOLS;
}

/* Whose mmdebstrap makes the base. */
typedef enum MakerKind {
        MAKER_UNKNOWN, /* the tools' lock has not been read, or there is none yet */
        MAKER_SELF,    /* these are the tools: the host's */
        MAKER_HOST,    /* the tools have none */
        MAKER_TOOLS,
} MakerKind;

typedef struct Plan {
        const Recipe *recipe;
        const Lock *lock;
        Stage *stages;
        size_t n_stages;
        char **dpkg_options; /* in effect wherever packages are installed: "--path-exclude=/x/\*" */
        const char *kernel;  /* release, borrowed from the lock; NULL for a tree */
        MakerKind maker_kind;
        Digest maker; /* of the programs that make the base; "" but for MAKER_TOOLS */
} Plan;

/* A recipe's file with all that follows from it. */
typedef struct Loaded {
        Recipe *recipe;
        Lock *lock;
        Plan *plan;
} Loaded;

/* Where a kernel's initramfs is in the image, as its distribution has it. NULL on out of memory;
 * the caller frees it. */
static inline char *plan_initramfs(const Plan *p, const char *kernel) {
        return p->recipe->family == FAMILY_EL ? strf("/boot/initramfs-%s.img", kernel)
                                              : strf("/boot/initrd.img-%s", kernel);
}
