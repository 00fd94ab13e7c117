/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* OpenSSL's part of minisign's format. */

#include "common/ed25519.h"

#include <openssl/evp.h>

#define SCRYPT_R 8
#define SCRYPT_MEMORY_MAX (UINT64_C(2) << 30)

static void pkey_freep(EVP_PKEY **k) {
        EVP_PKEY_free(*k);
}
static void md_ctx_freep(EVP_MD_CTX **c) {
        EVP_MD_CTX_free(*c);
}
#define _cleanup_pkey_ _cleanup_(pkey_freep)
#define _cleanup_md_ctx_ _cleanup_(md_ctx_freep)

static EVP_PKEY *private_key(const unsigned char *seed) {
        return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, ED25519_KEY);
}

int ed25519_public(const unsigned char seed[ED25519_KEY], unsigned char ret[ED25519_KEY]) {
        _cleanup_pkey_ EVP_PKEY *k = private_key(seed);
        size_t size = ED25519_KEY;

        return k && EVP_PKEY_get_raw_public_key(k, ret, &size) == 1 && size == ED25519_KEY ? 0
                                                                                           : -EIO;
}

int ed25519_sign(const unsigned char seed[ED25519_KEY], const void *data, size_t size,
                unsigned char ret[ED25519_SIGNATURE]) {
        _cleanup_pkey_ EVP_PKEY *k = private_key(seed);
        _cleanup_md_ctx_ EVP_MD_CTX *c = EVP_MD_CTX_new();
        size_t n = ED25519_SIGNATURE;

        if (!k || !c || EVP_DigestSignInit(c, NULL, NULL, NULL, k) != 1 ||
                        EVP_DigestSign(c, ret, &n, data, size) != 1 || n != ED25519_SIGNATURE)
                return -EIO;
        return 0;
}

int ed25519_verify(const unsigned char key[ED25519_KEY], const void *data, size_t size,
                const unsigned char signature[ED25519_SIGNATURE]) {
        _cleanup_pkey_ EVP_PKEY *k =
                        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, ED25519_KEY);
        _cleanup_md_ctx_ EVP_MD_CTX *c = EVP_MD_CTX_new();

        if (!k || !c || EVP_DigestVerifyInit(c, NULL, NULL, NULL, k) != 1)
                return -EIO;
        return EVP_DigestVerify(c, signature, ED25519_SIGNATURE, data, size) == 1 ? 0
                                                                                  : -EKEYREJECTED;
}

int blake2b_512(const void *data, size_t size, unsigned char ret[BLAKE2B]) {
        unsigned n = 0;

        return EVP_Digest(data, size, ret, &n, EVP_blake2b512(), NULL) == 1 && n == BLAKE2B ? 0
                                                                                            : -EIO;
}

/* The largest power of two that is at most max, but at least 2. */
static uint64_t power_below(uint64_t max) {
        uint64_t n = 2;

        while (n <= max / 2 && n < UINT64_C(1) << 40)
                n *= 2;
        return n;
}

/* As pickparams() of libsodium's crypto_pwhash/scryptsalsa208sha256. */
int scrypt_sodium(const char *passphrase, const unsigned char salt[SCRYPT_SALT],
                uint64_t operations, uint64_t memory, unsigned char *ret, size_t size) {
        uint64_t n, p = 1;

        operations = MAX(operations, UINT64_C(32768));
        if (memory > SCRYPT_MEMORY_MAX)
                return -ENOMEM;
        if (operations < memory / 32)
                n = power_below(operations / (SCRYPT_R * 4));
        else {
                n = power_below(memory / (SCRYPT_R * 128));
                p = MIN(operations / 4 / n, UINT64_C(0x3fffffff)) / SCRYPT_R;
        }
        if (p == 0)
                return -EIO;
        /* OpenSSL counts a few blocks more than the vector of N. */
        return EVP_PBE_scrypt(passphrase, strlen(passphrase), salt, SCRYPT_SALT, n, SCRYPT_R, p,
                               SCRYPT_MEMORY_MAX + (UINT64_C(64) << 20), ret, size) == 1
                               ? 0
                               : -ENOMEM;
}
