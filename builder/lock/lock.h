/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* images/x.lock.json: every package and artifact that a recipe resolves to, by stage, with its
 * sha256. Nothing moves under a build that has one. Read it, let resolve() complete it (by apt's
 * own solver over signed indexes, without any tree), write it; then fetch_packages() brings what
 * it names into the store. The types are in lock/model.h. */

#include "common/context.h"
#include "lock/image.h"

int lock_read(const char *path, Lock **ret);     /* -ENOENT; -EINVAL: logged, with the remedy */
int lock_write(const Lock *l, const char *path); /* durably and sorted, one package a line */
/* Whether lock_write() may write there, before anything is asked: 0 or -errno, not logged. */
int lock_probe(const char *path);
Lock *lock_free(Lock *l);
DEFINE_CLEANUP(Lock *, lock_free);
#define _cleanup_lock_free_ _cleanup_(lock_freep)

const LockedStage *lock_find_stage(const Lock *l, const char *id);
const LockedArtifact *lock_find_artifact(const Lock *l, const char *overlay, const char *name);
const LockedOrigin *lock_find_origin(const Lock *l, const char *name);
const LockedEnvironment *lock_find_environment(const Lock *l, const char *path);
bool lock_leads_environment(const Recipe *recipe, size_t i); /* overlay i: first to fill its own */
const LockedPackage *locked_stage_find(const LockedStage *s, const char *name); /* s may be NULL */

/* "6.12.57+deb13-amd64", of the kernel that stage "kernel" installs, else the image's own; NULL. */
const char *lock_kernel_release(const Lock *l);

/* Completes `old` (may be NULL) for the recipe. Returns 1 when something changed, 0 when *ret
 * equals old. Stages whose request and predecessors are unchanged keep their packages. With
 * ctx->offline, -ENETUNREACH and a message where the lock is not complete. Artifacts are downloaded
 * here, into the store, where they are not locked yet; and so is a base image, of which the recipe
 * then gets its distribution. Errors are logged. */
int resolve(Context *ctx, Recipe *recipe, const Lock *old, const ResolveOptions *options,
                Lock **ret);

/* The stages that need locked packages, in order, with what they ask for. 0 or -ENOMEM. */
int lock_package_requests(const Recipe *recipe, PackageRequest **ret, size_t *ret_n);
void package_requests_free(PackageRequest *requests, size_t n);

/* The last overlay whose packages the compile stages of `o` see; NULL: base and kernel alone. */
const Overlay *lock_compile_base(const Recipe *recipe, const Overlay *o);

/* A stage's packages into the store, from the lock's origins and this host's mirror. Logged. */
int fetch_packages(Context *ctx, const Recipe *recipe, const Lock *lock, const LockedStage *stage,
                const char *progress);

/* The wheels of a locked environment into the store, from where the host's pip finds them. */
int fetch_wheels(Context *ctx, const Recipe *recipe, const LockedEnvironment *environment,
                const char *progress);

/* Checks that the store's .debs are the packages that they are locked as. Errors are logged. */
int locked_packages_check(Context *ctx, const Recipe *recipe, const LockedStage *stage);

/* The key of a locked repository: as a binary keyring for apt's Signed-By, and armoured for dnf. */
int locked_key_write(const LockedOrigin *origin, const char *path);
int locked_key_armour(const LockedOrigin *origin, char **ret);

/* Adds to the dpkg database below `root` (a tree's absolute path) stanzas for those of `names` that
 * it does not have: packages that others depend on and a build can do without. Negative errno. */
int assumed_add(const char *root, char *const *names, const char *arch);

/* What moved, by name. before: NULL for none. A package that moved to another stage with the same
 * version is no change. */
int lock_diff(const Lock *before, const Lock *after, LockDiff *ret);
void lock_diff_print(const LockDiff *d, FILE *f);
int lock_diff_to_json(const LockDiff *d, json_object **ret);
void lock_diff_done(LockDiff *d);
#define _cleanup_lock_diff_ _cleanup_(lock_diff_done)
