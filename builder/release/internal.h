/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A folder under inspection, and the steps that sign.c and verify.c call in order. */

#include "release/release.h"
#include "release/sums.h"
#include "shared/json-util.h"
#include "shared/strv.h"

#define MANIFEST "manifest.json"
#define SUMS "SHA256SUMS"
#define SIGNATURE_MAX (64 * 1024)

typedef struct Release {
        const char *folder;
        const char *image; /* of the images this one alone; NULL: all */
        json_object *manifest;
        Sums built;  /* the images, as the manifest has them */
        Sums actual; /* what was hashed so far: no file is read twice */
        int faults;
} Release;

/* content.c. Reads the manifest: 0; 1 where it is damaged (a fault); -EINVAL where there is
 * none. */
int release_open(Release *r);
void release_done(Release *r);
#define _cleanup_release_ _cleanup_(release_done)

void release_fault(Release *r, const char *format, ...) _printf_(2, 3);

/* Hashes a file of the folder, once; a fault where it cannot be read. *ret is borrowed, until the
 * next call; NULL for a fault, or for an image that nobody asked for. 0 or -ENOMEM. */
int release_hash(Release *r, const char *name, const Sum **ret);

/* Of an error in reading a file of the folder. */
const char *release_why(int error);

/* What lies in the folder and is neither in the list nor a signature of it: files and the like
 * (*ret), and folders (*ret_folders), both sorted. 0 or negative errno. */
int release_find_foreign(const Release *r, const Sums *list, char ***ret, char ***ret_folders);

/* Whether there is anything of that name. */
bool release_has(const Release *r, const char *name);

/* Images and SHA256SUMS are what the manifest says. 0 or -ENOMEM. */
int release_check_images(Release *r);

/* sbom.c. The three documents, where they are there, say what the manifest says. 0 or -ENOMEM. */
int release_check_sbom(Release *r);

/* against-lock.c. The manifest names what the lock does, no more and no less. 0 or negative errno
 * (logged). */
int release_check_lock(Release *r, const char *path);

/* gpg.c. What is wrong is logged; a signature of the list `text` that does not hold is a fault. */
int gpg_sign(const char *folder, const char *key);
int gpg_verify(Release *r, const char *keyring, const char *text, size_t size);
