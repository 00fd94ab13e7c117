/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The three things that minisign's format is made of, by OpenSSL, which imgbuild has for its
 * digests and its downloads anyway; libsodium would be one library more. */

#include "shared/macro.h"

#define ED25519_KEY 32
#define ED25519_SIGNATURE 64
#define BLAKE2B 64
#define SCRYPT_SALT 32

/* All return 0 or negative errno: -EKEYREJECTED for a signature that does not hold, else -EIO. */
int ed25519_public(const unsigned char seed[ED25519_KEY], unsigned char ret[ED25519_KEY]);
int ed25519_sign(const unsigned char seed[ED25519_KEY], const void *data, size_t size,
                unsigned char ret[ED25519_SIGNATURE]);
int ed25519_verify(const unsigned char key[ED25519_KEY], const void *data, size_t size,
                const unsigned char signature[ED25519_SIGNATURE]);

int blake2b_512(const void *data, size_t size, unsigned char ret[BLAKE2B]);

/* scrypt with libsodium's two limits (operations; bytes of memory) in place of N, r and p. -ENOMEM
 * where it takes more than 2 GiB, or more than there is. */
int scrypt_sodium(const char *passphrase, const unsigned char salt[SCRYPT_SALT],
                uint64_t operations, uint64_t memory, unsigned char *ret, size_t size);
