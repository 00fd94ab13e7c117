/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Public keys and signatures, read as strictly as they are written. */

#include "common/minisign.h"
#include "common/base64.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#define FILE_MAX (64 * 1024)
/* minisign's own. It is signed by nobody, so no other is taken: not one byte of a signature may
 * change unseen. */
#define UNTRUSTED "untrusted comment: signature from minisign secret key"
#define TRUSTED "trusted comment: "

typedef struct Signature {
        unsigned char algorithm[2], id[KEY_ID], signature[ED25519_SIGNATURE];
} Signature;

typedef struct EncodedPublicKey {
        unsigned char algorithm[2];
        PublicKey key;
} EncodedPublicKey;

_Static_assert(sizeof(Signature) == 74 && sizeof(EncodedPublicKey) == 42, "no padding");

void key_id_format(const unsigned char id[KEY_ID], char ret[2 * KEY_ID + 1]) {
        for (size_t i = 0; i < KEY_ID; i++)
                snprintf(ret + 2 * i, 3, "%02X", id[KEY_ID - 1 - i]);
}

/* --- public keys ------------------------------------------------------------------------------ */

int public_key_read(const char *path, PublicKey *ret) {
        _cleanup_free_ char *text = NULL;
        _cleanup_strv_free_ char **lines = NULL;
        EncodedPublicKey k;
        size_t n;
        int r;

        r = read_file(path, FILE_MAX, &text, NULL);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read the public key", path),
                       r == -ENOENT ? -EINVAL : r;
        lines = strv_split(text, "\r\n");
        if (!lines)
                return log_oom();
        n = strv_length(lines);
        if (n < 1 || n > 2 || base64_decode(lines[n - 1], &k, sizeof(k)) < 0 ||
                        memcmp(k.algorithm, "Ed", 2) != 0) {
                log_error("%s is no public key of minisign's (minisign -G makes a pair: minisign.pub is the public one)",
                                path);
                return -EINVAL;
        }
        *ret = k.key;
        return 0;
}

char *public_key_format(const PublicKey *k) {
        EncodedPublicKey e = { .algorithm = "Ed", .key = *k };
        char id[2 * KEY_ID + 1], encoded[BASE64_MAX];

        key_id_format(k->id, id);
        base64_encode(&e, sizeof(e), encoded);
        return strf("untrusted comment: minisign public key %s\n%s\n", id, encoded);
}

/* --- signatures ------------------------------------------------------------------------------- */

/* What the second signature is over. */
static int join_signed(
                const Signature *s, const char *comment, unsigned char **ret, size_t *ret_size) {
        size_t n = strlen(comment);
        unsigned char *joined = malloc(ED25519_SIGNATURE + n);

        if (!joined)
                return -ENOMEM;
        memcpy(joined, s->signature, ED25519_SIGNATURE);
        memcpy(joined + ED25519_SIGNATURE, comment, n);
        *ret = joined;
        *ret_size = ED25519_SIGNATURE + n;
        return 0;
}

int minisign_sign(const SecretKey *k, const void *data, size_t size, const char *comment,
                char **ret) {
        Signature s = { .algorithm = "ED" };
        unsigned char hash[BLAKE2B], second[ED25519_SIGNATURE];
        _cleanup_free_ unsigned char *joined = NULL;
        char encoded[BASE64_MAX], encoded_second[BASE64_MAX];
        size_t joined_size;
        int r;

        if (strpbrk(comment, "\r\n"))
                return -EINVAL;
        memcpy(s.id, k->public.id, KEY_ID);
        r = blake2b_512(data, size, hash);
        if (r < 0)
                return r;
        r = secret_key_sign(k, hash, sizeof(hash), s.signature);
        if (r < 0)
                return r;
        r = join_signed(&s, comment, &joined, &joined_size);
        if (r < 0)
                return r;
        r = secret_key_sign(k, joined, joined_size, second);
        if (r < 0)
                return r;

        base64_encode(&s, sizeof(s), encoded);
        base64_encode(second, sizeof(second), encoded_second);
        *ret = strf(UNTRUSTED "\n%s\n" TRUSTED "%s\n%s\n", encoded, comment, encoded_second);
        return *ret ? 0 : -ENOMEM;
}

/* The four lines, each with its newline. */
static int split_signature(char *text, char *lines[4]) {
        for (size_t i = 0; i < 4; i++) {
                char *end = strchr(text, '\n');

                if (!end)
                        return -EBADMSG;
                *end = '\0';
                lines[i] = text;
                text = end + 1;
        }
        return *text ? -EBADMSG : 0;
}

int minisign_verify(const PublicKey *k, const void *data, size_t size, const char *signature,
                size_t signature_size, unsigned char ret_id[KEY_ID], char **ret_comment) {
        _cleanup_free_ char *text = strndup(signature, signature_size), *copy = NULL;
        _cleanup_free_ unsigned char *joined = NULL;
        unsigned char hash[BLAKE2B], second[ED25519_SIGNATURE];
        const char *comment;
        char *lines[4];
        size_t joined_size;
        Signature s;
        int r;

        if (!text)
                return -ENOMEM;
        if (strlen(text) != signature_size || split_signature(text, lines) < 0)
                return -EBADMSG;
        comment = startswith(lines[2], TRUSTED);
        if (!streq(lines[0], UNTRUSTED) || !comment || base64_decode(lines[1], &s, sizeof(s)) < 0 ||
                        base64_decode(lines[3], second, sizeof(second)) < 0 ||
                        memcmp(s.algorithm, "ED", 2) != 0)
                return -EBADMSG;
        if (ret_id)
                memcpy(ret_id, s.id, KEY_ID);
        if (memcmp(s.id, k->id, KEY_ID) != 0)
                return -ENOKEY;

        r = blake2b_512(data, size, hash);
        if (r < 0)
                return r;
        r = ed25519_verify(k->key, hash, sizeof(hash), s.signature);
        if (r < 0)
                return r;
        r = join_signed(&s, comment, &joined, &joined_size);
        if (r < 0)
                return r;
        r = ed25519_verify(k->key, joined, joined_size, second);
        if (r < 0)
                return r;
        if (!ret_comment)
                return 0;
        copy = strdup(comment);
        if (!copy)
                return -ENOMEM;
        *ret_comment = TAKE_PTR(copy);
        return 0;
}
