/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* SHA-256 through OpenSSL; hex text everywhere. A digest of many things is a Hash that is fed with
 * labelled fields. */

#include "shared/macro.h"
#include <openssl/evp.h>

#define DIGEST_HEX 64
typedef char Digest[DIGEST_HEX + 1];

typedef struct Hash Hash;
int hash_new(Hash **ret);
Hash *hash_free(Hash *h);
DEFINE_CLEANUP(Hash *, hash_free);
#define _cleanup_hash_free_ _cleanup_(hash_freep)

void hash_bytes(Hash *h, const void *data, size_t size);

/* A labelled field, length included, so that no two lists of fields hash alike. value may be
 * NULL. */
void hash_field(Hash *h, const char *label, const char *value);
void hash_strv(Hash *h, const char *label, char *const *l);
void hash_end(Hash *h, Digest ret); /* "", which is no valid digest, where something failed */

/* -ECANCELED after a Ctrl-C. */
int digest_file(const char *path, Digest ret, uint64_t *ret_size); /* ret_size may be NULL */
int digest_fd(int fd, Digest ret, uint64_t *ret_size);

/* SHA-512, where others say that of a file; nothing here is known by it. */
#define DIGEST_SHA512_HEX 128
int digest_file_sha512(const char *path, char ret[static DIGEST_SHA512_HEX + 1]);

bool digest_valid(const char *s); /* 64 lower-case hex digits */

/* Digest of a folder as git would carry it: names, contents, link targets, executable bits; no
 * owners, times or other modes, so that it is equal in every checkout. */
int digest_tree(const char *path, Digest ret);
