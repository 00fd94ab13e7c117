/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An Ed25519 key that stays in a token (a smart card, an HSM, a key store), by its PKCS#11 URI
 * (RFC 7512): "pkcs11:token=ci;object=release". p11-kit finds the modules that this host is set up
 * with; "?module-path=/usr/lib/…" names one. */

#include "common/ed25519.h"

typedef struct TokenKey TokenKey;

bool token_key_is_uri(const char *text);

/* Opens the token, with the PIN in the first line of a file (NULL: it wants none), once: a wrong
 * one is not tried again, for tokens count. `ret_public`: the key's public half. Errors are
 * logged; -EINVAL for what is wrong with URI, PIN or key. */
int token_key_open(const char *uri, const char *pin_path, TokenKey **ret,
                unsigned char ret_public[ED25519_KEY]);
TokenKey *token_key_close(TokenKey *k);
DEFINE_CLEANUP(TokenKey *, token_key_close);

/* CKM_EDDSA. 0, -EIO, or -EINVAL where the token's two halves are no pair (logged). */
int token_key_sign(const TokenKey *k, const void *data, size_t size,
                unsigned char ret[ED25519_SIGNATURE]);
