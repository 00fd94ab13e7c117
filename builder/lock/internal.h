/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of this room share: how locks are made, and single questions of resolving. */

#include "lock/lock.h"
#include "store/digest.h"
#include "store/fetch.h"

#define LOCK_VERSION 1
#define LOCK_SIZE_MAX (16 * 1024 * 1024) /* bytes of a lock file; one of 600 packages has 200 KB */

/* For those who make locks. All return 0 or -ENOMEM; what is added is copied. */
int lock_new(const char *recipe, Lock **ret);
int lock_add_origin(Lock *l, const LockedOrigin *origin);
int lock_set_image(Lock *l, const LockedImage *image);
void locked_image_done(LockedImage *i);
int lock_add_stage(Lock *l, const char *id, const char *request, LockedStage **ret);
int lock_add_artifact(Lock *l, const LockedArtifact *artifact);
int lock_add_environment(Lock *l, const char *path, const char *request, const char *target,
                LockedEnvironment **ret);
int locked_environment_add(LockedEnvironment *e, const LockedWheel *wheel);
bool lock_knows_wheel(const Lock *l, const char *name); /* l may be NULL */
void lock_sort_environments(Lock *l);
void lock_free_environments(Lock *l);
int locked_stage_add(LockedStage *s, const LockedPackage *package);
void locked_stage_sort(LockedStage *s);
void lock_sort(Lock *l);

/* The text of a lock file. */
int lock_to_text(const Lock *l, char **ret);

/* Whether a value of a lock file may be one (valid.c). */
bool lock_name_valid(const char *s);
bool lock_version_valid(const char *s);
bool lock_id_valid(const char *s);
bool lock_text_valid(const char *s);
bool lock_path_valid(const char *s);
bool lock_url_valid(const char *s);
bool lock_base64_valid(const char *s);
bool lock_environment_valid(const char *s);
bool lock_wheel_valid(const char *s);
bool lock_pep440_valid(const char *s);
bool lock_line_valid(const char *s);
bool lock_role_valid(const char *s);

/* Digest of all that decides which packages each request may get: its own packages and
 * repositories, the release, and the requests before it. `ret` has room for n. */
int resolve_request_digests(
                const Recipe *recipe, const PackageRequest *requests, size_t n, Digest *ret);

/* Adds artifacts to `l`, downloading those that are not locked yet. Returns how many these were;
 * l NULL: only counts. Errors are logged. */
int resolve_artifacts(Context *ctx, const Recipe *recipe, const Lock *old,
                const ResolveOptions *options, Lock *l);

/* The artifact that is locked so, where it is a package and the store has it; else NULL. */
const Artifact *artifact_package(Context *ctx, const Recipe *recipe, const LockedArtifact *locked);

/* Packages that those of these overlays depend on, and nothing brings: 0 where there are none, else
 * it says so, and returns -EINVAL. */
int artifacts_find_missing(char *const *brought_by, char *const *missing);

/* Where on this host what `item` says lies: its URL is one, or a path of this host's. What comes is
 * stored under its own digest. Errors are logged; the caller frees *ret. */
int bring_file(Context *ctx, FetchItem *item, char **ret);

/* Whose signature counts for something. */
typedef struct SigningKey {
        const char *key;         /* URL or absolute path of a file that has it */
        const char *fingerprint; /* of the primary key, which is pinned */
        const char *what;        /* that it signs: "repository x" */
        const char *place;       /* of the recipe or overlay that says so */
        const char *whose;       /* "recipe", "overlay" */
} SigningKey;

/* Brings the key, checks that it is the one with the pinned fingerprint, and writes that key alone
 * as a binary keyring to `path`: for apt's Signed-By. Errors are logged; -EBADMSG for another
 * key. */
int signing_key(Context *ctx, const SigningKey *k, const char *path);

/* That of a repository: a file of the overlay (NULL: the recipe's), or a URL. */
int repository_key(Context *ctx, const Recipe *recipe, const Overlay *overlay,
                const Repository *repository, const char *path);

/* Whether `signature` (detached) is by the key in the keyring `path`, valid today and of `file`. 1,
 * 0 or negative errno; not logged. */
int key_signed(Context *ctx, const char *path, const char *signature, const char *file);

/* The same of a text that is signed in the same file (clearsigned), which is written to `text`. */
int key_signed_text(Context *ctx, const char *path, const char *file, const char *text);

/* From such a keyring to the text that a lock has; locked_key_write() is the way back. */
int key_to_text(const char *path, char **ret);

/* Fingerprints of the primary keys that the origin's key holds, computed from it: there should be
 * one. -EBADMSG for what is no public key. */
int locked_key_fingerprints(const LockedOrigin *origin, char ***ret);

/* A lock is a file that anybody may have edited. Of all stages that answer their request, checks
 * what they repeat from recipe and overlays: whose repositories these are, where they lie, whose
 * keys are locked. -EINVAL and one message for the first that differs. */
int lock_verify(const Recipe *recipe, const PackageRequest *requests, const Digest *digests,
                size_t n, const Lock *l);

/* A stanza of dpkg's status file for a package that is only taken for installed, with an empty line
 * behind it. Its version is newer than any, for dependencies ask for one that is new enough; one
 * that wants an exact version is not met. */
void assumed_print(FILE *f, const char *name, const char *arch);
