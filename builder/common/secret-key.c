/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* minisign's secret key, with or without a passphrase. What was read is wiped, and no error says
 * what it was. minisign's own check, a BLAKE2b of 32 bytes, is one that OpenSSL before 3.2 cannot
 * make; that the public half belongs to the secret one is asked instead. */

#include "common/minisign.h"
#include "common/base64.h"
#include "common/core-files.h"
#include "common/token-key.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#define KEY_FILE_MAX (64 * 1024)

typedef struct Secret {
        unsigned char id[KEY_ID], seed[ED25519_KEY], public[ED25519_KEY], check[32];
} Secret;

typedef struct EncodedSecretKey {
        unsigned char algorithm[2], kdf[2], check_algorithm[2], salt[SCRYPT_SALT], operations[8],
                        memory[8];
        Secret secret; /* XORed with what scrypt makes of the passphrase */
} EncodedSecretKey;

_Static_assert(sizeof(EncodedSecretKey) == 158, "no padding");

typedef struct Text {
        char *text;
        size_t size;
} Text;

static void text_wipe(Text *t) {
        if (t->text)
                OPENSSL_cleanse(t->text, t->size);
        free(t->text);
}
#define _cleanup_text_ _cleanup_(text_wipe)

void secret_key_done(SecretKey *k) {
        token_key_close(k->token);
        OPENSSL_cleanse(k, sizeof(*k));
}

int secret_key_sign(const SecretKey *k, const void *data, size_t size,
                unsigned char ret[ED25519_SIGNATURE]) {
        return k->token ? token_key_sign(k->token, data, size, ret)
                        : ed25519_sign(k->seed, data, size, ret);
}

static uint64_t little_endian(const unsigned char bytes[8]) {
        uint64_t n = 0;

        for (size_t i = 8; i > 0; i--)
                n = n << 8 | bytes[i - 1];
        return n;
}

/* The passphrase is the file's first line. */
static int read_passphrase(const char *path, Text *ret) {
        int r = read_file(path, KEY_FILE_MAX, &ret->text, &ret->size);

        if (r < 0)
                return log_error_errno(r, "%s: cannot read the passphrase", path),
                       r == -ENOENT ? -EINVAL : r;
        ret->text[strcspn(ret->text, "\r\n")] = '\0';
        return 0;
}

static int decrypt(EncodedSecretKey *k, const char *path, const char *passphrase_path) {
        _cleanup_text_ Text passphrase = {};
        unsigned char stream[sizeof(Secret)], *secret = (unsigned char *) &k->secret;
        int r;

        if (!passphrase_path)
                return log_error_return(-EINVAL,
                                "%s has a passphrase: name a file with it, --passphrase=FILE",
                                path);
        r = read_passphrase(passphrase_path, &passphrase);
        if (r < 0)
                return r;
        r = scrypt_sodium(passphrase.text, k->salt, little_endian(k->operations),
                        little_endian(k->memory), stream, sizeof(stream));
        if (r == -ENOMEM)
                return log_error_errno(r, "%s: its passphrase takes %llu MiB of memory to check",
                                path, (unsigned long long) little_endian(k->memory) >> 20);
        if (r < 0)
                return log_error_errno(r, "%s: cannot check the passphrase", path);
        for (size_t i = 0; i < sizeof(stream); i++)
                secret[i] ^= stream[i];
        OPENSSL_cleanse(stream, sizeof(stream));
        return 0;
}

/* The second line, in place: nothing else keeps a copy. */
static int parse(Text *t, EncodedSecretKey *ret) {
        char *line = strchr(t->text, '\n');

        line = line ? line + 1 : t->text;
        line[strcspn(line, "\r\n")] = '\0';
        if (base64_decode(line, ret, sizeof(*ret)) < 0 || memcmp(ret->algorithm, "Ed", 2) != 0)
                return -EBADMSG;
        if (memcmp(ret->kdf, "Sc", 2) != 0 && memcmp(ret->kdf, "\0\0", 2) != 0)
                return -EBADMSG;
        return 0;
}

static void warn_open_to_others(const char *path) {
        struct stat st;

        if (stat(path, &st) >= 0 && (st.st_mode & 0077) != 0)
                log_warning("%s is open to others: chmod 600 %s", path, path);
}

static int take_key(EncodedSecretKey *k, const char *path, const char *passphrase_path,
                SecretKey *ret) {
        bool encrypted = k->kdf[0] != 0;
        unsigned char public[ED25519_KEY];
        int r;

        r = encrypted ? decrypt(k, path, passphrase_path) : 0;
        if (r < 0)
                return r;
        r = ed25519_public(k->secret.seed, public);
        if (r < 0)
                return log_error_errno(r, "%s: cannot use the key", path);
        if (memcmp(public, k->secret.public, ED25519_KEY) != 0)
                return log_error_return(-EINVAL, "%s: %s", path,
                                encrypted ? "the passphrase is wrong" : "the key is damaged");
        memcpy(ret->public.id, k->secret.id, KEY_ID);
        memcpy(ret->public.key, public, ED25519_KEY);
        memcpy(ret->seed, k->secret.seed, ED25519_KEY);
        return 0;
}

static int read_token(const char *uri, const char *pin_path, SecretKey *ret) {
        unsigned char hash[BLAKE2B];
        int r;

        r = token_key_open(uri, pin_path, &ret->token, ret->public.key);
        if (r < 0)
                return r;
        r = blake2b_512(ret->public.key, ED25519_KEY, hash);
        if (r < 0)
                return log_error_errno(r, "%s: cannot name the key", uri);
        memcpy(ret->public.id, hash, KEY_ID);
        return 0;
}

int secret_key_read(const char *path, const char *passphrase_path, SecretKey *ret) {
        _cleanup_text_ Text t = {};
        EncodedSecretKey k;
        int r;

        no_core_files();
        if (token_key_is_uri(path))
                return read_token(path, passphrase_path, ret);
        r = read_file(path, KEY_FILE_MAX, &t.text, &t.size);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read the secret key", path),
                       r == -ENOENT ? -EINVAL : r;
        warn_open_to_others(path);
        r = parse(&t, &k);
        if (r < 0)
                log_error("%s is no secret key of minisign's (minisign -G -W makes one without a passphrase)",
                                path);
        else
                r = take_key(&k, path, passphrase_path, ret);
        OPENSSL_cleanse(&k, sizeof(k));
        return r == -EBADMSG ? -EINVAL : r;
}
