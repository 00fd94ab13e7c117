/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* images/x.lock.json: every package (name, version, arch, sha256, size, origin, path below its
 * mirror) and artifact (url, sha256) a recipe resolves to, by stage. Nothing moves under a build
 * that has one. docs/lock.md describes the file. */

#include "recipe/recipe.h"

#define LOCK_VERSION 1
#define LOCK_SIZE_MAX \
        (16 * 1024 * 1024) /* bytes a lock file may have; one of 600 packages has 200 KB */

typedef struct LockedPackage {
        char *name, *version, *arch;
        char *sha256;
        uint64_t size;
        char *origin; /* key into Lock.origins */
        char *path;   /* below the origin's URI, not URL-encoded: pool/main/… */
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

typedef struct LockedStage {
        char *id;      /* as plan.h names stages: "base", "kernel", "packages:slurm",
                          "compile:nvidia-driver/0" */
        char *request; /* digest of what was asked for: recipe's packages, repositories, release */
        LockedPackage *packages; /* what this stage adds, sorted by name */
        size_t n_packages;
} LockedStage;

typedef struct Lock {
        char *recipe;
        int64_t epoch; /* SOURCE_DATE_EPOCH of everything built from this lock: the newest Release
                          file's date */
        LockedOrigin *origins;
        size_t n_origins;
        LockedStage *stages;
        size_t n_stages;
        LockedArtifact *artifacts;
        size_t n_artifacts;
} Lock;

int lock_read(const char *path,
                Lock **ret); /* -ENOENT; -EINVAL: logged, with file, place and remedy */

/* Durably, sorted, one package a line, so that a diff reads like a list of what moved. */
int lock_write(const Lock *l, const char *path);
int lock_to_text(const Lock *l, char **ret);

const LockedStage *lock_find_stage(const Lock *l, const char *id);
const LockedArtifact *lock_find_artifact(const Lock *l, const char *overlay, const char *name);
const LockedOrigin *lock_find_origin(const Lock *l, const char *name);

/* Release of the kernel that stage "kernel" installs ("6.12.57+deb13-amd64"); NULL where there is
 * none. */
const char *lock_kernel_release(const Lock *l);

/* For those who make locks. All return 0 or -ENOMEM; what is added is copied. */
int lock_new(const char *recipe, Lock **ret);
int lock_add_origin(Lock *l, const LockedOrigin *origin);
int lock_add_stage(Lock *l, const char *id, const char *request, LockedStage **ret);
int lock_add_artifact(Lock *l, const LockedArtifact *artifact);
int locked_stage_add(LockedStage *s, const LockedPackage *package);
void locked_stage_sort(LockedStage *s);
void lock_sort(Lock *l);

Lock *lock_free(Lock *l);
DEFINE_CLEANUP(Lock *, lock_free);
#define _cleanup_lock_free_ _cleanup_(lock_freep)
