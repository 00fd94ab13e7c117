/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Signing keys of repositories, pinned by fingerprint in the overlay or recipe that brings them,
 * and locked byte by byte, so that an image which keeps the repository has the same file whenever
 * it is built. And of base images. */

#include "lock/internal.h"
#include "lock/openpgp.h"
#include "store/store.h"
#include "store/fetch.h"
#include "shared/file-util.h"
#include "shared/spawn.h"

#include <fcntl.h>
#include <sys/stat.h>

#define KEY_SIZE_MAX (256 * 1024)          /* the keys of vendors have 1 to 4 KB */
#define KEY_DOWNLOAD_MAX (4 * 1024 * 1024) /* a file may have many keys, of which one is pinned */

#define GPG_USEC (60 * USEC_PER_SEC)
#define SLOWEST (10 * 1024 * 1024) /* bytes a second, of what a signature is of: a slow disk's */

/* gpg on a keyring of its own: nothing of the user's, no agent, no network. Returns its exit
 * code. */
static int gpg_within(uint64_t usec, const char *home, const char *output_path, char **ret_output,
                char *const *words) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *output = NULL;
        SpawnOptions options = { .timeout_usec = usec };
        int status, r;

        if (output_path) {
                fd = open(output_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
                if (fd < 0)
                        return -errno;
                options.stdout_fd = fd;
        }
        r = strv_extend_strv(&argv,
                        ARGV("gpg", "--homedir", home, "--batch", "--no-options", "--no-autostart",
                                        "--no-auto-key-retrieve", "--no-tty", "--quiet"));
        if (r < 0)
                return r;
        r = strv_extend_strv(&argv, words);
        if (r < 0)
                return r;

        r = spawn_capture(&options, argv, &output, &status);
        if (r < 0)
                return r;
        log_debug("gpg: %s", output);
        if (ret_output)
                *ret_output = TAKE_PTR(output);
        return status;
}

static int gpg(const char *home, const char *output_path, char **ret_output, char *const *words) {
        return gpg_within(GPG_USEC, home, output_path, ret_output, words);
}

/* Fingerprints of the primary keys in what --list-keys --with-colons printed. */
static int primary_fingerprints(const char *listing, char ***ret) {
        _cleanup_strv_free_ char **lines = strv_split(listing, "\n"), **found = NULL;
        bool primary = false;

        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                const char *p = *line;

                if (startswith(p, "pub:"))
                        primary = true;
                else if (startswith(p, "sub:"))
                        primary = false;
                else if (primary && startswith(p, "fpr:")) {
                        for (size_t i = 0; i < 9 && p; i++) /* the tenth field */
                                if ((p = strchr(p, ':')))
                                        p++;
                        if (p && strv_push(&found, strndup(p, strcspn(p, ":"))) < 0)
                                return -ENOMEM;
                        primary = false;
                }
        }
        *ret = TAKE_PTR(found);
        return 0;
}

/* Imports `file` and writes the pinned key of it, and no other, to `path`. *ret_found: what was
 * there instead. */
static int extract(const char *home, const char *file, const char *fingerprint, const char *path,
                char **ret_found) {
        _cleanup_strv_free_ char **fingerprints = NULL;
        _cleanup_free_ char *listing = NULL;
        int r;

        /* What it could not import is missing below. */
        r = gpg(home, NULL, NULL, ARGV("--import", file));
        if (r < 0)
                return r;
        r = gpg(home, NULL, &listing, ARGV("--list-keys", "--with-colons"));
        if (r != 0)
                return r < 0 ? r : -EBADMSG;
        r = primary_fingerprints(listing, &fingerprints);
        if (r < 0)
                return r;
        if (!strv_contains(fingerprints, fingerprint)) {
                *ret_found = fingerprints ? strv_join(fingerprints, ", ") : strdup("no key");
                return *ret_found ? -EBADMSG : -ENOMEM;
        }
        r = gpg(home, path, NULL,
                        ARGV("--export", "--export-options", "export-minimal", fingerprint));
        return r > 0 ? -EIO : r;
}

int bring_file(Context *ctx, FetchItem *item, char **ret) {
        int r;

        if (!strstr(item->url, "://")) {
                *ret = strdup(item->url);
                return *ret ? 0 : log_oom();
        }
        r = fetch_all(ctx, NULL, item, 1);
        if (r < 0)
                return r;
        *ret = store_blob_path(ctx->store, item->result);
        return *ret ? 0 : log_oom();
}

/* A new folder for gpg, which it alone may read. */
static int make_home(Context *ctx, char **ret) {
        _cleanup_free_ char *home = NULL;
        int r = store_scratch(ctx->store, "gpg", &home);

        if (r < 0)
                return r;
        if (chmod(home, 0700) < 0)
                return -errno;
        *ret = TAKE_PTR(home);
        return 0;
}

int signing_key(Context *ctx, const SigningKey *k, const char *path) {
        _cleanup_free_ char *home = NULL, *file = NULL, *found = NULL,
                            *what = strf("the signing key of %s", k->what);
        FetchItem item = { .url = k->key, .what = what, .max = KEY_DOWNLOAD_MAX };
        int r;

        if (!what)
                return log_oom();
        r = bring_file(ctx, &item, &file);
        if (r < 0)
                return r;
        r = make_home(ctx, &home);
        if (r < 0)
                return log_error_errno(r, "Cannot make room for a keyring");
        r = extract(home, file, k->fingerprint, path, &found);
        rm_rf(home);
        if (r == -ENOENT) {
                log_error("gpg is needed to check the key of %s: install the package gpg", k->what);
                return -ENOPKG;
        }
        if (r == -EBADMSG) {
                log_error("%s: the key of %s is not the pinned one: %s has %s, the %s pins %s. "
                          "If the vendor changed keys, compare with what it publishes elsewhere before you change the %s",
                                k->place, k->what, k->key, strempty(found), k->whose,
                                k->fingerprint, k->whose);
                return r;
        }
        if (r < 0)
                return log_error_errno(r, "The key of %s cannot be read: %s", k->what, k->key);
        return 0;
}

int repository_key(Context *ctx, const Recipe *recipe, const Overlay *overlay,
                const Repository *repository, const char *path) {
        _cleanup_free_ char *what = strf("repository %s", repository->name), *file = NULL;
        SigningKey k = { .key = repository->key,
                .fingerprint = repository->fingerprint,
                .what = what,
                .place = overlay ? overlay->path : recipe->path,
                .whose = overlay ? "overlay" : "recipe" };

        if (!strstr(k.key, "://") && k.key[0] != '/')
                k.key = file = path_join(k.place, repository->key);
        return what && k.key ? signing_key(ctx, &k, path) : log_oom();
}

/* gpg's exit code alone says that a signature is right, also one by a key that is not valid any
 * more; its status lines tell these apart. */
static bool says_good(const char *status) {
        static const char *const bad[] = { "EXPSIG", "EXPKEYSIG", "REVKEYSIG", "BADSIG", "ERRSIG" };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                const char *at = strstr(status, bad[i]);

                if (at && at - status >= 9 && startswith(at - 9, "[GNUPG:] "))
                        return false;
        }
        return strstr(status, "[GNUPG:] GOODSIG ") && strstr(status, "[GNUPG:] VALIDSIG ");
}

/* 1 where gpg, called so with the key in the keyring `path`, finds a good signature and nothing
 * else. A disk image that is signed takes as long to read as it is large. */
static int verifies(Context *ctx, const char *path, const char *file, char *const *words) {
        _cleanup_free_ char *home = NULL, *status = NULL;
        struct stat st;
        int r;

        if (stat(file, &st) < 0)
                return -errno;
        r = make_home(ctx, &home);
        if (r < 0)
                return r;
        r = gpg(home, NULL, NULL, ARGV("--import", path));
        if (r == 0)
                r = gpg_within(GPG_USEC + (uint64_t) st.st_size / SLOWEST * USEC_PER_SEC, home,
                                NULL, &status, words);
        rm_rf(home);
        if (r < 0)
                return r;
        return r == 0 && says_good(status);
}

int key_signed(Context *ctx, const char *path, const char *signature, const char *file) {
        return verifies(ctx, path, file, ARGV("--status-fd", "1", "--verify", signature, file));
}

int key_signed_text(Context *ctx, const char *path, const char *file, const char *text) {
        return verifies(ctx, path, file,
                        ARGV("--status-fd", "1", "--output", text, "--decrypt", file));
}

int key_to_text(const char *path, char **ret) {
        _cleanup_free_ char *key = NULL, *text = NULL;
        size_t size;
        int r;

        r = read_file(path, KEY_SIZE_MAX, &key, &size);
        if (r < 0)
                return r;
        text = malloc(4 * ((size + 2) / 3) + 1);
        if (!text)
                return -ENOMEM;
        EVP_EncodeBlock((unsigned char *) text, (unsigned char *) key, (int) size);
        *ret = TAKE_PTR(text);
        return 0;
}

static int decode_key(const LockedOrigin *origin, unsigned char **ret, size_t *ret_size) {
        size_t n = origin->key ? strlen(origin->key) : 0, padding = 0;
        _cleanup_free_ unsigned char *key = NULL;
        int size;

        if (n == 0 || n > KEY_SIZE_MAX)
                return -EINVAL;
        key = malloc(n);
        if (!key)
                return -ENOMEM;
        size = EVP_DecodeBlock(key, (const unsigned char *) origin->key, (int) n);
        while (padding < 2 && origin->key[n - 1 - padding] == '=')
                padding++;
        if (size < (int) padding)
                return -EINVAL;
        *ret = TAKE_PTR(key);
        *ret_size = (size_t) size - padding;
        return 0;
}

int locked_key_write(const LockedOrigin *origin, const char *path) {
        _cleanup_free_ unsigned char *key = NULL;
        size_t size;
        int r;

        r = decode_key(origin, &key, &size);
        return r < 0 ? r : write_file_atomic(path, key, size, 0644);
}

/* RFC 9580, 6.1.1. */
static uint32_t crc24(const unsigned char *data, size_t size) {
        uint32_t crc = 0xb704ce;

        for (size_t i = 0; i < size; i++) {
                crc ^= (uint32_t) data[i] << 16;
                for (unsigned bit = 0; bit < 8; bit++) {
                        crc <<= 1;
                        if (crc & 0x1000000)
                                crc ^= 0x1864cfb;
                }
        }
        return crc & 0xffffff;
}

int locked_key_armour(const LockedOrigin *origin, char **ret) {
        _cleanup_free_ unsigned char *key = NULL;
        _cleanup_free_ char *text = NULL;
        unsigned char sum[8], crc[3];
        size_t size, text_size;
        uint32_t c;
        int r;

        r = decode_key(origin, &key, &size);
        if (r < 0)
                return r;
        c = crc24(key, size);
        crc[0] = (unsigned char) (c >> 16);
        crc[1] = (unsigned char) (c >> 8);
        crc[2] = (unsigned char) c;
        EVP_EncodeBlock(sum, crc, sizeof(crc));

        FILE *f = open_memstream(&text, &text_size);
        if (!f)
                return -ENOMEM;
        fputs("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n", f);
        for (const char *p = origin->key; *p; p += MIN(strlen(p), (size_t) 64))
                fprintf(f, "%.64s\n", p);
        fprintf(f, "=%s\n-----END PGP PUBLIC KEY BLOCK-----\n", sum);
        if (fclose(f) != 0)
                return -ENOMEM;
        *ret = TAKE_PTR(text);
        return 0;
}

int locked_key_fingerprints(const LockedOrigin *origin, char ***ret) {
        _cleanup_free_ unsigned char *key = NULL;
        size_t size;
        int r;

        r = decode_key(origin, &key, &size);
        if (r < 0)
                return r == -EINVAL ? -EBADMSG : r;
        return openpgp_fingerprints(key, size, ret);
}
