/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bucket is in the path, not in the host's name: certificates are of the server's name alone,
 * whatever a bucket is called. */

#include "store/s3.h"
#include "common/core-files.h"

#include "shared/log.h"
#include "shared/strv.h"

struct S3Access {
        char *signer; /* "aws:amz:eu-central-1:s3" */
        char *key_id, *secret;
        struct curl_slist *headers;
};

S3Access *s3_access_free(S3Access *a) {
        if (!a)
                return NULL;
        curl_slist_free_all(a->headers);
        free(a->signer);
        free(a->key_id);
        if (a->secret)
                explicit_bzero(a->secret, strlen(a->secret));
        free(a->secret);
        free(a);
        return NULL;
}

bool s3_is_url(const char *url) {
        return startswith(url, "s3://");
}

/* The first that is set, and not empty. */
static const char *from_environment(const char *one, const char *other) {
        const char *value = getenv(one);

        if ((!value || !*value) && other)
                value = getenv(other);
        return value && *value ? value : NULL;
}

/* It becomes part of a host's name, and of what is signed. */
static bool is_region(const char *s) {
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

        return *s && s[strspn(s, letters)] == '\0';
}

/* What a URL, a signature and a server understand in the same way: no dots that lead to another
 * bucket, nothing that one of them would escape. */
static bool is_prefix(const char *s) {
        static const char letters[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-";
        size_t n;

        while (*s) {
                n = strcspn(s, "/");
                if (n == 0 || strspn(s, letters) < n || (n <= 2 && strspn(s, ".") >= n))
                        return false;
                s += n + (s[n] == '/');
        }
        return true;
}

/* As Amazon has it; other servers take fewer. */
static bool is_bucket(const char *s, size_t n) {
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";

        return n >= 3 && n <= 63 && strspn(s, letters) >= n;
}

static int add_header(S3Access *a, const char *name, const char *value) {
        _cleanup_free_ char *header = strf("%s: %s", name, value);
        struct curl_slist *grown = header ? curl_slist_append(a->headers, header) : NULL;

        if (!grown)
                return -ENOMEM;
        a->headers = grown;
        return 0;
}

/* The payload is not signed: that of every file has a digest in the record that names it. */
static int fill(S3Access *a, const char *region, const char *key_id, const char *secret) {
        const char *token = from_environment("AWS_SESSION_TOKEN", NULL);
        int r;

        a->signer = strf("aws:amz:%s:s3", region);
        a->key_id = strdup(key_id);
        a->secret = strdup(secret);
        if (!a->signer || !a->key_id || !a->secret)
                return -ENOMEM;
        r = add_header(a, "x-amz-content-sha256", "UNSIGNED-PAYLOAD");
        if (r < 0 || !token)
                return r;
        return add_header(a, "x-amz-security-token", token);
}

static int make_url(const char *url, const char *endpoint, const char *region, char **ret) {
        const char *path = url + strlen("s3://");
        _cleanup_free_ char *amazon = strf("https://s3.%s.amazonaws.com", region);
        size_t n = strlen(path), host = endpoint ? strlen(endpoint) : 0;

        while (n > 0 && path[n - 1] == '/')
                n--;
        while (host > 0 && endpoint[host - 1] == '/')
                host--;
        if (amazon && endpoint)
                *ret = strf("%.*s/%.*s", (int) host, endpoint, (int) n, path);
        else if (amazon)
                *ret = strf("%s/%.*s", amazon, (int) n, path);
        return amazon && *ret ? 0 : -ENOMEM;
}

int s3_access_new(const char *url, S3Access **ret, char **ret_url) {
        _cleanup_(s3_access_freep) S3Access *a = NULL;
        const char *bucket = url + strlen("s3://"), *prefix = bucket + strcspn(bucket, "/"),
                   *key_id = from_environment("AWS_ACCESS_KEY_ID", NULL),
                   *secret = from_environment("AWS_SECRET_ACCESS_KEY", NULL),
                   *region = from_environment("AWS_REGION", "AWS_DEFAULT_REGION"),
                   *endpoint = from_environment("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");

        if (!is_bucket(bucket, (size_t) (prefix - bucket)))
                return log_error_return(-EINVAL,
                                "%s: the bucket's name is missing, or is none: s3://BUCKET/PREFIX",
                                url);
        if (!is_prefix(prefix + (*prefix == '/')))
                return log_error_return(-EINVAL,
                                "%s: the prefix has letters, digits, '.', '_', '~' and '-' in names between single slashes, none of them '.' or '..'",
                                url);
        if (!key_id || !secret)
                return log_error_return(-EINVAL,
                                "%s: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set; where Amazon's own tools know who you are, eval \"$(aws configure export-credentials --format env)\" sets them",
                                url);
        if (!region && !endpoint)
                return log_error_return(-EINVAL,
                                "%s: AWS_REGION is not set: the bucket's region, such as eu-central-1",
                                url);
        region = region ? region : "us-east-1"; /* what servers that have none take */
        if (!is_region(region))
                return log_error_return(-EINVAL, "AWS_REGION is no region: %s", region);

        no_core_files();
        a = calloc(1, sizeof(*a));
        if (!a || fill(a, region, key_id, secret) < 0 ||
                        make_url(url, endpoint, region, ret_url) < 0)
                return log_oom();
        *ret = TAKE_PTR(a);
        return 0;
}

void s3_sign(const S3Access *a, CURL *e) {
        curl_easy_setopt(e, CURLOPT_AWS_SIGV4, a->signer);
        curl_easy_setopt(e, CURLOPT_USERNAME, a->key_id);
        curl_easy_setopt(e, CURLOPT_PASSWORD, a->secret);
        curl_easy_setopt(e, CURLOPT_HTTPHEADER, a->headers);
        /* curl would take the token along to another server. */
        curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
}
