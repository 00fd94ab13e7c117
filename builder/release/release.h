/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What goes out: the folder OUT/NAME of a build is signed, and whoever got it sees whether it is
 * still what was signed, from manifest, sums and lock alone. No store, no root, no appliance.
 *
 *   release.sha256           SHA-256 of every file that is signed, for sha256sum -c
 *   release.sha256.minisig   its signature, as minisign makes and reads it
 *   release.sha256.asc       its signature by GPG
 *   release.spdx.json        what is in the image: SPDX 2.3
 *   release.cdx.json         the same, CycloneDX 1.5
 *   release.provenance.json  from what it was built: in-toto statement, SLSA provenance v1 */

#include "shared/macro.h"

#define RELEASE_SUMS "release.sha256"
#define RELEASE_MINISIG RELEASE_SUMS ".minisig"
#define RELEASE_ASC RELEASE_SUMS ".asc"
#define RELEASE_SPDX "release.spdx.json"
#define RELEASE_CYCLONEDX "release.cdx.json"
#define RELEASE_PROVENANCE "release.provenance.json"
#define RELEASE_DOCUMENTS RELEASE_SPDX, RELEASE_CYCLONEDX, RELEASE_PROVENANCE
/* All of them are of one build: the next one removes them. */
#define RELEASE_NAMES RELEASE_SUMS, RELEASE_MINISIG, RELEASE_ASC, RELEASE_DOCUMENTS

/* Writes the three documents that say what is in the image, from the manifest alone. 0, 1 (a
 * damaged manifest) or negative errno; all is logged. */
int release_write_sbom(const char *folder);

typedef struct SignOptions {
        const char *key;        /* minisign's secret key, a file, or a PKCS#11 URI; NULL: none */
        const char *passphrase; /* a file, for a key that has one, or a token's PIN; NULL: none */
        const char *public;     /* the key's public half is written there; NULL: it is not */
        const char *gpg;        /* what gpg calls --local-user; NULL: none */
        char *const *more;      /* further files of the folder */
} SignOptions;

/* Signs the folder, but only where it is what its build left. 0; > 0 the number of its faults;
 * -EINVAL for a folder of no build's, or a key that is none. Everything is logged. */
int release_sign(const char *folder, const SignOptions *o);

typedef struct VerifyOptions {
        const char *key;     /* minisign's public key, a file; NULL: its signatures do not count */
        const char *keyring; /* GPG's public keys, a file as gpgv wants it; NULL: the same */
        const char *lock;    /* the lock that the image is said to be of; NULL: none */
        const char *image;   /* of the images this one alone, a name; NULL: all */
} VerifyOptions;

/* 0; > 0 the number of faults, each logged; -EINVAL for a folder of no build's or a key that is
 * none (logged). */
int release_verify(const char *folder, const VerifyOptions *o);
