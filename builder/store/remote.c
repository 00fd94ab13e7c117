/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the remote store is asked, and what of its answers is believed: a record of this very layer,
 * in the one form in which it is written. remote-request.c sends and receives. */

#include "store/remote-request.h"

#include "shared/log.h"
#include "shared/strv.h"

#define VERSION_KEY "imgbuild-layer"
#define RECORD_VERSION 1
#define RECORD_MAX (256 * 1024)                           /* bytes */
#define ARCHIVE_MAX (UINT64_C(1024) * 1024 * 1024 * 1024) /* bytes */

/* --- opening ---------------------------------------------------------------------------------- */

static bool is_loopback(const char *url) {
        static const char *const hosts[] = { "http://127.0.0.1", "http://[::1]",
                "http://localhost" };

        for (size_t i = 0; i < ELEMENTSOF(hosts); i++) {
                const char *rest = startswith(url, hosts[i]);

                if (rest && strchr(":/", rest[0]))
                        return true;
        }
        return false;
}

/* No message shows a URL that has a login in it. */
static int check_url(const char *url, bool keyed, bool s3) {
        const char *host = strstr(url, "://");

        if (!host || (!startswith(url, "https://") && !startswith(url, "http://")) ||
                        strpbrk(url, "?# \t\r\n") || !host[3] || host[3] == '/')
                return log_error_return(-EINVAL,
                                "--remote-store, or IMGBUILD_REMOTE_STORE, is no URL of a remote store: https://HOST/PATH or s3://BUCKET/PREFIX, without anything behind the path");
        if (memchr(host + 3, '@', strcspn(host + 3, "/")))
                return log_error_return(-EINVAL,
                                "The remote store's URL holds a user or password: put them into /etc/apt/auth.conf.d, or a file that IMGBUILD_AUTH_FILE names, see apt_auth.conf(5)");
        if (s3 && startswith(url, "http://") && !is_loopback(url))
                return log_error_return(-EINVAL,
                                "%s: over plain http anybody on the way has the token, and what is written: use https",
                                url);
        if (!keyed && startswith(url, "http://") && !is_loopback(url))
                return log_error_return(-EINVAL,
                                "%s: over plain http anybody on the way may change what comes: use https, or --remote-store-key",
                                url);
        return 0;
}

int remote_new(const char *url, const char *key, Remote **ret) {
        _cleanup_(remote_freep) Remote *r = calloc(1, sizeof(*r));
        _cleanup_free_ char *reached = NULL;
        size_t n;
        int error;

        if (!r)
                return log_oom();
        error = s3_is_url(url) ? s3_access_new(url, &r->s3, &reached) : 0;
        if (error < 0)
                return error;
        url = reached ? reached : url;
        n = strlen(url);
        error = check_url(url, key != NULL, r->s3 != NULL);
        if (error < 0)
                return error;
        while (n > 0 && url[n - 1] == '/')
                n--;
        r->url = strndup(url, n);
        if (!r->url)
                return log_oom();
        if (key) {
                error = public_key_read(key, &r->key);
                if (error < 0)
                        return error;
                r->keyed = true;
        }
        *ret = TAKE_PTR(r);
        return 0;
}

Remote *remote_free(Remote *r) {
        if (!r)
                return NULL;
        remote_request_done(r);
        s3_access_free(r->s3);
        strv_free(r->refused);
        free(r->tally.first);
        free(r->url);
        free(r);
        return NULL;
}

const char *remote_url(const Remote *r) {
        return r->url;
}

const S3Access *remote_s3(const Remote *r) {
        return r->s3;
}

bool remote_is_keyed(const Remote *r) {
        return r->keyed;
}

bool remote_has_key(const Remote *r, const PublicKey *key) {
        return r->keyed && memcmp(&r->key, key, sizeof(*key)) == 0;
}

void remote_expect_key(Remote *r, const PublicKey *key) {
        r->key = *key;
        r->keyed = true;
}

void remote_give_up(Remote *r) {
        r->given_up = true;
}

bool remote_is_usable(const Remote *r) {
        return r && !r->given_up;
}

RemoteTally *remote_tally(Remote *r) {
        return &r->tally;
}

int remote_refuse(Remote *r, const char *digest) {
        return strv_extend(&r->refused, digest);
}

bool remote_refuses(const Remote *r, const char *digest) {
        return strv_contains(r->refused, digest);
}

void remote_layer_done(RemoteLayer *l) {
        if (l->made_with)
                json_object_put(l->made_with);
        *l = (RemoteLayer) {};
}

static char *layer_url(const Remote *r, const char *digest) {
        return strf("%s/layers/%s", r->url, digest);
}

char *remote_blob_url(const Remote *r, const char *sha256) {
        return strf("%s/blobs/sha256/%.2s/%s", r->url, sha256, sha256);
}

/* --- records ---------------------------------------------------------------------------------- */

static int bad(char **ret_why, const char *why) {
        *ret_why = strdup(why);
        return -EBADMSG;
}

/* The first line is what is signed. *ret_line: its length, with the newline. */
static int check_signature(
                const Remote *r, const char *text, size_t size, size_t *ret_line, char **ret_why) {
        const char *end = memchr(text, '\n', size);
        int e;

        if (!end)
                return bad(ret_why, "its record is cut off");
        *ret_line = (size_t) (end + 1 - text);
        if (!r->keyed)
                return 0;
        if (*ret_line == size)
                return bad(ret_why, "its record is not signed");
        e = minisign_verify(
                        &r->key, text, *ret_line, text + *ret_line, size - *ret_line, NULL, NULL);
        if (e == -ENOKEY)
                return bad(ret_why, "its record is signed by another key");
        return e < 0 ? bad(ret_why, "the signature of its record does not hold") : 0;
}

static bool take_digest(json_object *o, const char *key, Digest ret) {
        const char *text = json_get_string(o, key);

        if (!text || !digest_valid(text))
                return false;
        memcpy(ret, text, sizeof(Digest));
        return true;
}

static int take_record(const char *text, size_t size, const char *digest, RemoteLayer *ret,
                char **ret_why) {
        _cleanup_json_ json_object *o = NULL;
        json_object *archive, *made_with;
        RemoteLayer l = {};
        JsonError error;
        int64_t bytes;

        if (json_parse(text, size, &error, &o) < 0 || !json_object_is_type(o, json_type_object))
                return bad(ret_why, "its record is no JSON");
        if (json_get_int(o, VERSION_KEY, 0) != RECORD_VERSION)
                return bad(ret_why, "its record is of another version of imgbuild");
        archive = json_get(o, "archive");
        bytes = json_get_int(archive, "size", 0);
        if (!take_digest(o, "digest", l.digest) || !take_digest(o, "tree", l.tree) ||
                        !take_digest(archive, "sha256", l.archive) || bytes <= 0 ||
                        (uint64_t) bytes > ARCHIVE_MAX)
                return bad(ret_why, "its record is incomplete");
        if (!streq(l.digest, digest))
                return bad(ret_why, "its record is of another layer");
        l.size = (uint64_t) bytes;
        made_with = json_get(o, "made_with");
        if (made_with && json_object_is_type(made_with, json_type_object)) {
                if (json_disarm(made_with, true) < 0)
                        return -ENOMEM;
                l.made_with = json_object_get(made_with);
        }
        *ret = l;
        return 0;
}

int remote_find(Remote *r, const char *digest, RemoteLayer *ret, char **ret_why) {
        _cleanup_free_ char *url = layer_url(r, digest), *text = NULL;
        size_t size, line;
        int e;

        *ret_why = NULL;
        if (!url)
                return -ENOMEM;
        e = remote_get(r, url, RECORD_MAX, &text, &size, ret_why);
        if (e == -ENOENT)
                return 0;
        if (e < 0)
                return e;
        e = check_signature(r, text, size, &line, ret_why);
        if (e < 0)
                return e;
        e = take_record(text, line, digest, ret, ret_why);
        return e < 0 ? e : 1;
}

static int make_record(const RemoteLayer *l, const SecretKey *key, char **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *archive = NULL;
        _cleanup_free_ char *line = NULL, *signature = NULL, *comment = NULL;
        const char *text;
        int e;

        if (json_set_fields(o, JSON_INT(VERSION_KEY, RECORD_VERSION),
                            JSON_STRING("digest", l->digest), JSON_STRING("tree", l->tree)) < 0 ||
                        json_add_object(o, "archive", &archive) < 0 ||
                        json_set_fields(archive, JSON_STRING("sha256", l->archive),
                                        JSON_INT("size", l->size)) < 0 ||
                        json_set_fields(o, JSON_TAKE("made_with", json_object_get(l->made_with))) <
                                        0)
                return -ENOMEM;
        text = json_line(o);
        line = text ? strf("%s\n", text) : NULL;
        if (!line)
                return -ENOMEM;
        if (!key) {
                *ret = TAKE_PTR(line);
                return 0;
        }
        comment = strf("layer %s", l->digest);
        e = comment ? minisign_sign(key, line, strlen(line), comment, &signature) : -ENOMEM;
        if (e < 0)
                return e;
        *ret = strf("%s%s", line, signature);
        return *ret ? 0 : -ENOMEM;
}

int remote_write(Remote *r, Context *ctx, const char *stage, const RemoteLayer *l, int fd,
                const SecretKey *key, char **ret_why) {
        _cleanup_free_ char *blob = remote_blob_url(r, l->archive), *url = layer_url(r, l->digest),
                            *record = NULL;
        int e;

        *ret_why = NULL;
        if (!blob || !url)
                return -ENOMEM;
        e = make_record(l, key, &record);
        if (e < 0)
                return e;
        e = remote_put(r, blob,
                        &(RemoteBody) { .fd = fd, .size = l->size, .ctx = ctx, .stage = stage },
                        ret_why);
        if (e < 0)
                return e;
        return remote_put(r, url,
                        &(RemoteBody) { .fd = -EBADF, .text = record, .size = strlen(record) },
                        ret_why);
}

int remote_write_blob(Remote *r, Context *ctx, const char *stage, const char *sha256, int fd,
                uint64_t size, char **ret_why) {
        _cleanup_free_ char *url = remote_blob_url(r, sha256);
        int e;

        *ret_why = NULL;
        if (!url)
                return -ENOMEM;
        e = remote_has(r, url, size, ret_why);
        if (e != 0)
                return e;
        return remote_put(r, url,
                        &(RemoteBody) { .fd = fd, .size = size, .ctx = ctx, .stage = stage },
                        ret_why);
}
