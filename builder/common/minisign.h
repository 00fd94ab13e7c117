/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Keys and signatures as minisign 0.11 writes and reads them:
 * https://jedisct1.github.io/minisign/#signature-format. Signatures are prehashed ("ED"); older
 * ones ("Ed") are refused, as minisign -H does. */

#include "common/ed25519.h"

#define KEY_ID 8

typedef struct PublicKey {
        unsigned char id[KEY_ID], key[ED25519_KEY];
} PublicKey;

typedef struct SecretKey {
        PublicKey public;
        unsigned char seed[ED25519_KEY];
        struct TokenKey *token; /* which signs; NULL: the seed does */
} SecretKey;

/* "D3A4E5…", as minisign names a key. */
void key_id_format(const unsigned char id[KEY_ID], char ret[2 * KEY_ID + 1]);

/* A file with a public key, as minisign -G writes it or the key alone. Errors are logged. */
int public_key_read(const char *path, PublicKey *ret);

/* The same written: two lines. NULL on out of memory. */
char *public_key_format(const PublicKey *k);

/* secret-key.c. A file with a secret key, and one with its passphrase (NULL: it has none). Neither
 * is ever shown. Or the PKCS#11 URI of a key that stays in its token (token-key.h), and a file with
 * the PIN; its id is the first 8 bytes of its public half's BLAKE2b. Errors are logged. */
int secret_key_read(const char *path, const char *passphrase_path, SecretKey *ret);
void secret_key_done(SecretKey *k);
int secret_key_sign(const SecretKey *k, const void *data, size_t size,
                unsigned char ret[ED25519_SIGNATURE]);
#define _cleanup_secret_key_ _cleanup_(secret_key_done)

/* The text of a .minisig file; `comment` is signed too and shown by minisign -V: one line. */
int minisign_sign(
                const SecretKey *k, const void *data, size_t size, const char *comment, char **ret);

/* 0 and the signed comment (may be NULL); -EBADMSG: that is no signature in this format, byte for
 * byte; -ENOKEY: of another key (*ret_id, if not NULL, is its id); -EKEYREJECTED: it does not
 * hold. */
int minisign_verify(const PublicKey *k, const void *data, size_t size, const char *signature,
                size_t signature_size, unsigned char ret_id[KEY_ID], char **ret_comment);
