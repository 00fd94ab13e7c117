/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A lock in memory, what is asked of it, and what moved between two of them. docs/lock.md describes
 * the file. */

#include "recipe/recipe.h"

typedef struct LockedPackage {
        char *name, *version, *arch;
        char *sha256;
        uint64_t size;
        char *origin; /* the name of one of Lock.origins */
        char *path;   /* below the origin's URI, not URL-encoded: pool/main/… */
        char *kernel; /* an RPM's: the release of the kernel that it brings; else NULL */
} LockedPackage;

/* Where packages come from. No mirror host is locked for a distribution: `uri` is NULL and the
 * mirror is found anew on each host; a repository that an overlay names keeps its own URI. */
typedef struct LockedOrigin {
        char *name; /* "debian", "debian-security", or the repository's name */
        char *uri;
        char *suite;
        char *fingerprint, *key; /* of such a repository: its primary key, and that key in base64 */
} LockedOrigin;

typedef struct LockedArtifact {
        char *overlay, *name, *version, *url, *sha256;
        uint64_t size;
} LockedArtifact;

/* Of a Python environment. Where a wheel lies is found anew on each host, as packages' mirrors
 * are. */
typedef struct LockedWheel {
        char *name; /* as indexes write it: lower case, words joined by minus */
        char *version;
        char *file;    /* submitit-1.5.3-py3-none-any.whl */
        char *licence; /* as its metadata says; NULL: it does not */
        char *role;    /* "installer": what installs the others, in no image; else NULL */
        char *sha256;
        uint64_t size;
} LockedWheel;

typedef struct LockedEnvironment {
        char *path;          /* in the image */
        char *request;       /* digest of what overlays ask for */
        char *target;        /* what the wheels are for: "cpython-3.13.5-glibc-2.41-x86_64" */
        LockedWheel *wheels; /* sorted by name, the installer last */
        size_t n_wheels;
} LockedEnvironment;

/* The base of a recipe with base.image, and what was found in it. */
typedef struct LockedImage {
        char *name;      /* its URL, or the file's name without folders */
        char *root;      /* as the recipe says; NULL: it has one system */
        char *signed_by; /* fingerprint of the vendor's key; NULL: the recipe asks for none */
        char *sha256;
        uint64_t size;
        char *distro, *release; /* debian, trixie */
        char *kernel;           /* release of its own; NULL: it has none */
        char *status;           /* digest of its packages' database, which the store keeps */
        int64_t newest;         /* of its files' time stamps, seconds since 1970 */
} LockedImage;

typedef struct LockedStage {
        char *id;      /* "base", "kernel", "packages:slurm", "compile:nvidia-driver/0" */
        char *request; /* digest of what was asked for: recipe's packages, repositories, release */
        LockedPackage *packages; /* what this stage adds, sorted by name */
        size_t n_packages;
} LockedStage;

typedef struct Lock {
        char *recipe;
        int64_t epoch;     /* SOURCE_DATE_EPOCH of what is built from it: the newest Release */
        LockedImage image; /* name NULL: the base is made of packages */
        LockedOrigin *origins;
        size_t n_origins;
        LockedStage *stages;
        size_t n_stages;
        LockedArtifact *artifacts;
        size_t n_artifacts;
        LockedEnvironment *environments;
        size_t n_environments;
} Lock;

/* What one stage asks of apt. Names may contain "${kernel}". */
typedef struct PackageRequest {
        char *id; /* of the stage */
        char **packages;
        char *const *without;   /* the overlay's: packages that are taken for installed */
        const Overlay *overlay; /* whose repositories count from here on; NULL: none */
        bool throwaway;         /* compile: later stages do not have these packages */
} PackageRequest;

typedef struct ResolveOptions {
        bool update; /* move what is locked already; else only what the lock lacks is resolved */
        char *const *names; /* with update: only these packages or artifacts move; NULL: all */
        const char *target; /* looked at before the network is; NULL: none */
} ResolveOptions;

typedef struct LockChange {
        const char *stage; /* or the overlay of an artifact; all borrowed from the two locks */
        const char *name;
        const char *before; /* version; NULL: added */
        const char *after;  /* NULL: removed */
        bool content;       /* same version, other bytes */
        bool artifact;
} LockChange;

typedef struct LockDiff {
        LockChange *changes; /* by name */
        size_t n;
        size_t added, removed, moved;
} LockDiff;
