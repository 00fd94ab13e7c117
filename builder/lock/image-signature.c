/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Three forms are in use: of the image itself, of a list of checksums in a file of its own, and of
 * a list in the signature's file. Which one it is, the recipe and the file's first line say. */

#include "lock/image-signature.h"

#include "lock/checksums.h"
#include "lock/internal.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "store/fetch.h"
#include "store/store.h"

#include <time.h>

#define TEXT_MAX (4 * 1024 * 1024) /* bytes; vendors' lists have some KB */
#define CLEARSIGNED "-----BEGIN PGP SIGNED MESSAGE-----"

typedef struct Check {
        Context *ctx;
        const Recipe *recipe;
        const char *path, *sha256; /* the image */
        char *folder;              /* scratch */
        char *key;                 /* a keyring with the pinned one */
} Check;

static void check_done(Check *c) {
        if (c->folder)
                rm_rf(c->folder);
        free(c->folder);
        free(c->key);
}

static int bring(const Check *c, const char *where, const char *what, char **ret) {
        return bring_file(c->ctx,
                        &(FetchItem) { .url = where,
                                        .what = what,
                                        .max = TEXT_MAX,
                                        .file = c->recipe->path },
                        ret);
}

static int read_text(
                const Check *c, const char *path, const char *key, const char *where, char **ret) {
        size_t size;
        int r = read_file(path, TEXT_MAX, ret, &size);

        if (r < 0)
                return log_error_errno(r == -ENOENT ? -EINVAL : r,
                                "%s: $.base.signature.%s: cannot read %s", c->recipe->path, key,
                                where);
        return 0;
}

static int log_unsigned(const Check *c, const char *of) {
        const ImageSignature *s = &c->recipe->base.signature;
        char today[16] = "";
        struct tm tm;

        if (gmtime_r(&(time_t) { time(NULL) }, &tm))
                strftime(today, sizeof(today), "%F", &tm);
        log_error("%s: $.base.signature: %s is no valid signature of %s by key %s: one of them was changed or cut off on its way, is of another release, or the key is not valid today (%s by this host's clock)",
                        c->recipe->path, s->file, of, s->fingerprint, today);
        return -EBADMSG;
}

static int require_signed(const Check *c, int r, const char *of) {
        if (r < 0)
                return log_error_errno(r, "%s: $.base.signature: %s cannot be checked",
                                c->recipe->path, c->recipe->base.signature.file);
        return r > 0 ? 0 : log_unsigned(c, of);
}

static int log_other(const Check *c, const char *kind, const char *is, const char *listed) {
        log_error("%s: $.base.signature: %s has %s %s, and what the vendor signed says %s: it was changed or cut off on its way, or is of another day than the list",
                        c->recipe->path, c->recipe->base.image, kind, is, listed);
        return -EBADMSG;
}

static int compare(const Check *c, const Checksums *listed) {
        char sha512[DIGEST_SHA512_HEX + 1];
        int r;

        if (*listed->sha256 && !streq(listed->sha256, c->sha256))
                return log_other(c, "sha256", c->sha256, listed->sha256);
        if (!*listed->sha512)
                return 0;
        r = digest_file_sha512(c->path, sha512);
        if (r < 0)
                return log_error_errno(
                                r, "%s: $.base.image: cannot read %s", c->recipe->path, c->path);
        return streq(listed->sha512, sha512) ? 0 : log_other(c, "sha512", sha512, listed->sha512);
}

/* What is listed is the image's name, not its place: a URL's last part, without a query. */
static int check_listed(const Check *c, const char *list, const char *where) {
        const char *image = c->recipe->base.image;
        _cleanup_free_ char *path = strndup(image, strcspn(image, "?#"));
        const char *name = path ? path_basename(path) : NULL;
        Checksums listed;
        int r;

        if (!name)
                return log_oom();
        r = checksums_find(list, name, &listed);
        if (r == -ENOENT) {
                log_error("%s: $.base.signature: %s has neither SHA256 nor SHA512 of %s, but of %zu other files: name the image in base.image as the list does",
                                c->recipe->path, where, name, listed.n);
                return -EINVAL;
        }
        if (r < 0) {
                log_error("%s: $.base.signature: %s has two different checksums of %s: which is meant nobody can tell",
                                c->recipe->path, where, name);
                return -EBADMSG;
        }
        return compare(c, &listed);
}

/* The list is in the signature's own file. */
static int check_clearsigned(const Check *c, const char *signature) {
        const char *where = c->recipe->base.signature.file;
        _cleanup_free_ char *text = path_join(c->folder, "text"), *list = NULL;
        int r;

        if (!text)
                return log_oom();
        r = require_signed(c, key_signed_text(c->ctx, c->key, signature, text), "its own text");
        if (r < 0)
                return r;
        r = read_text(c, text, "file", where, &list);
        return r < 0 ? r : check_listed(c, list, where);
}

static int check_list(const Check *c, const char *signature) {
        const char *where = c->recipe->base.signature.checksums;
        _cleanup_free_ char *path = NULL, *list = NULL;
        int r;

        r = bring(c, where, "the checksums of the base image", &path);
        if (r < 0)
                return r;
        r = read_text(c, path, "checksums", where, &list);
        if (r < 0)
                return r;
        r = require_signed(c, key_signed(c->ctx, c->key, signature, path), where);
        return r < 0 ? r : check_listed(c, list, where);
}

static int check(const Check *c) {
        const ImageSignature *s = &c->recipe->base.signature;
        _cleanup_free_ char *signature = NULL, *text = NULL;
        int r;

        r = bring(c, s->file, "the signature of the base image", &signature);
        if (r < 0)
                return r;
        r = read_text(c, signature, "file", s->file, &text);
        if (r < 0)
                return r;
        if (s->checksums)
                return check_list(c, signature);
        if (startswith(text, CLEARSIGNED))
                return check_clearsigned(c, signature);
        return require_signed(
                        c, key_signed(c->ctx, c->key, signature, c->path), c->recipe->base.image);
}

int image_signature_check(
                Context *ctx, const Recipe *recipe, const char *path, const Digest sha256) {
        const ImageSignature *s = &recipe->base.signature;
        _cleanup_(check_done)
                        Check c = { .ctx = ctx, .recipe = recipe, .path = path, .sha256 = sha256 };
        const SigningKey key = { .key = s->key,
                .fingerprint = s->fingerprint,
                .what = "the base image",
                .place = recipe->path,
                .whose = "recipe" };
        int r;

        if (!s->fingerprint)
                return 0;
        r = store_scratch(ctx->store, "signature", &c.folder);
        if (r < 0)
                return log_error_errno(r, "Cannot write in the store %s", store_path(ctx->store));
        c.key = path_join(c.folder, "key.gpg");
        if (!c.key)
                return log_oom();
        r = signing_key(ctx, &key, c.key);
        return r < 0 ? r : check(&c);
}
