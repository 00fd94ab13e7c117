/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* OpenSSL's decoder is lenient; what it gives is encoded again and compared. */

#include "common/base64.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#define BASE64_LENGTH(size) (((size) + 2) / 3 * 4)

void base64_encode(const void *data, size_t size, char ret[BASE64_MAX]) {
        EVP_EncodeBlock((unsigned char *) ret, data, (int) size);
}

int base64_decode(const char *text, void *ret, size_t size) {
        unsigned char decoded[BASE64_MAX];
        char again[BASE64_MAX];
        bool same;

        if (BASE64_LENGTH(size) >= BASE64_MAX || strlen(text) != BASE64_LENGTH(size))
                return -EBADMSG;
        if (EVP_DecodeBlock(decoded, (const unsigned char *) text, (int) strlen(text)) < 0)
                return -EBADMSG;
        base64_encode(decoded, size, again);
        same = streq(text, again);
        if (same)
                memcpy(ret, decoded, size);
        OPENSSL_cleanse(decoded, sizeof(decoded));
        OPENSSL_cleanse(again, sizeof(again));
        return same ? 0 : -EBADMSG;
}
