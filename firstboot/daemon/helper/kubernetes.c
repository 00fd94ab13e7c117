/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is asked of a Kubernetes API server. Nothing that it says is trusted before its certificate
 * was proved; what is fetched before (kubeadm's cluster-info) is proved by the pinned digest of the
 * CA. */

#include "daemon/helper/kubernetes.h"
#include "contract/kubeconfig.h"
#include "contract/paths.h"
#include "daemon/helper/cluster-ca.h"
#include "daemon/helper/http.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <time.h>

#define REQUEST_USEC (10 * USEC_PER_SEC)
#define FILE_MAX (1024 * 1024)
#define TOKEN_MAX (16 * 1024)
#define DEFAULT_PORT "6443"
#define CLUSTER_INFO "/api/v1/namespaces/kube-public/configmaps/cluster-info"

static int give(const char *kind, const char *text, json_object *more) {
        _cleanup_json_ json_object *o = more ? json_object_get(more) : json_object_new_object();

        if (!o || json_set_fields(o, JSON_STRING("kind", kind),
                                  JSON_STRING("text", strempty(text))) < 0)
                return EXIT_FAILURE;
        puts(json_line(o));
        return streq(kind, "ok") ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const char *kind_of(int error) {
        switch (error) {
        case -ECONNREFUSED:
                return "unreachable";
        case -ETIMEDOUT:
                return "timeout";
        case -EKEYREJECTED:
                return "certificate";
        default:
                return "protocol";
        }
}

/* --- The node's own identity ----------------------------------------------------------------- */

static int read_below_root(const char *name, char **ret) {
        _cleanup_free_ char *path = fb_path(name);

        return path ? read_file(path, FILE_MAX, ret, NULL) : -ENOMEM;
}

/* PEM text from a kubeconfig's data or file. -ENOENT where it has neither. */
static int pem_of(const char *data, const char *file, char **ret) {
        if (data)
                return base64_text(data, ret);
        return file ? read_below_root(file, ret) : -ENOENT;
}

typedef struct Identity {
        Kubeconfig conf;
        char *ca, *cert, *key; /* PEM */
} Identity;

static void identity_done(Identity *i) {
        kubeconfig_done(&i->conf);
        free(i->ca);
        free(i->cert);
        free(i->key);
}

static int identity_read(Identity *i) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = read_below_root(PATH_KUBELET_CONF, &text);
        if (r < 0)
                return r;
        r = kubeconfig_parse(text, &i->conf);
        if (r < 0)
                return r;
        if (!startswith(i->conf.server, "https://"))
                return -EBADMSG;
        r = pem_of(i->conf.ca_data, i->conf.ca_file, &i->ca);
        if (r < 0)
                return r == -ENOENT ? -EBADMSG : r;
        r = pem_of(i->conf.cert_data, i->conf.cert_file, &i->cert);
        if (r < 0)
                return r == -ENOENT ? -EBADMSG : r;
        r = pem_of(i->conf.key_data, i->conf.key_file, &i->key);
        return r == -ENOENT ? -EBADMSG : r;
}

static char *day_of(int64_t seconds) {
        time_t t = seconds;
        struct tm tm;
        char text[32];

        if (!gmtime_r(&t, &tm) || strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm) == 0)
                return strdup("an unknown day");
        return strdup(text);
}

/* What the certificate says, against what the node is to be. */
static int judge_certificate(const Identity *i, const char *node, json_object *o) {
        _cleanup_free_ char *name = NULL, *want = strf("system:node:%s", node), *text = NULL,
                            *day = NULL;
        int64_t from = 0, until = 0, now = time(NULL);

        if (!want)
                return EXIT_FAILURE;
        if (certificate_read(i->cert, &name, &from, &until) < 0)
                return give("broken", "the certificate that it names cannot be read", o);
        if (!streq(name, want)) {
                text = strf("kubelet's certificate is for %s, not %s", name, want);
                return give("other-node", text, o);
        }
        if (now < from) {
                day = day_of(from);
                text = strf("kubelet's certificate is valid from %s on: the clock is behind",
                                strempty(day));
                return give("clock", text, o);
        }
        if (now > until) {
                day = day_of(until);
                text = strf("kubelet's certificate was valid until %s", strempty(day));
                return give("expired", text, o);
        }
        return give("ok", "", o);
}

int kubernetes_identity(json_object *config, const char *node) {
        _cleanup_(identity_done) Identity i = {};
        _cleanup_json_ json_object *o = json_object_new_object();
        _cleanup_free_ char *found = NULL, *text = NULL;
        int r;

        if (!o)
                return EXIT_FAILURE;
        r = identity_read(&i);
        if (r == -ENOENT && !i.conf.server)
                return give("absent", "", o);
        if (r < 0)
                return give("broken",
                                r == -ENOTUNIQ ? "it names several clusters or users"
                                               : strerror(-r),
                                o);
        if (json_set_string(o, "server", i.conf.server) < 0)
                return EXIT_FAILURE;

        r = cluster_ca_is_pinned(i.ca, json_get(config, "ca_hashes"), &found);
        if (r < 0)
                return give("broken", "the CA in it cannot be read", o);
        if (r == 0) {
                text = strf("it has joined the cluster at %s, whose CA is %s", i.conf.server,
                                found);
                return give("other-cluster", text, o);
        }
        return judge_certificate(&i, node, o);
}

/* --- Before it joins ------------------------------------------------------------------------- */

static char *url_of(const char *endpoint, const char *path) {
        return strf("https://%s%s%s%s", endpoint, strchr(endpoint, ':') ? "" : ":",
                        strchr(endpoint, ':') ? "" : DEFAULT_PORT, path);
}

/* The API server's answer as an object; NULL where it is none. */
static json_object *object_of(const char *body) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        if (json_parse(body, strlen(body), &e, &o) < 0 || !json_object_is_type(o, json_type_object))
                return NULL;
        return TAKE_PTR(o);
}

/* The CA that cluster-info has, once it is proved to be the one that is pinned; else how the
 * program ends is in *ret_exit, and NULL. */
static char *pinned_ca(json_object *info, json_object *config, json_object *o, int *ret_exit) {
        const char *text = json_get_string(json_get(info, "data"), "kubeconfig");
        _cleanup_kubeconfig_ Kubeconfig k = {};
        _cleanup_free_ char *ca = NULL, *found = NULL, *why = NULL;
        int r;

        if (!text || kubeconfig_parse(text, &k) < 0 || !k.ca_data ||
                        base64_text(k.ca_data, &ca) < 0) {
                *ret_exit = give("protocol", "its cluster-info has no CA", o);
                return NULL;
        }
        r = cluster_ca_is_pinned(ca, json_get(config, "ca_hashes"), &found);
        if (r <= 0) {
                why = strf("the cluster's CA is %s, which is not among kubernetes.ca_hashes",
                                r < 0 ? "unreadable" : found);
                *ret_exit = give("wrong-ca", why, o);
                return NULL;
        }
        return TAKE_PTR(ca);
}

/* Whether the signer of cluster-info has a token of this id. */
static bool knows_token(json_object *info, const char *id) {
        _cleanup_free_ char *key = strf("jws-kubeconfig-%s", id);

        return key && json_get_string(json_get(info, "data"), key);
}

int kubernetes_discover(json_object *config, const char *token_id) {
        _cleanup_json_ json_object *o = json_object_new_object(), *info = NULL;
        _cleanup_free_ char *url = url_of(strempty(json_get_string(config, "endpoint")),
                                            CLUSTER_INFO),
                            *body = NULL, *detail = NULL, *ca = NULL, *text = NULL;
        const HttpTls anybody = { .unverified = true };
        int64_t date = 0;
        HttpRequest q = {
                .url = url, .timeout_usec = REQUEST_USEC, .tls = &anybody, .ret_date = &date
        };
        long status = 0;
        int r, end = EXIT_FAILURE;

        if (!o || !url)
                return EXIT_FAILURE;
        r = http_request(&q, &status, &body, &detail);
        if (r < 0)
                return give(kind_of(r), r == -EFBIG ? "its answer is too long" : detail, o);
        if (date && json_set_int(o, "date", date) < 0)
                return EXIT_FAILURE;
        info = object_of(body);
        if (status == 401 || status == 403)
                return give("anonymous",
                                CLUSTER_INFO
                                " may not be read without a certificate (anonymous requests), "
                                "which kubeadm join needs as well",
                                o);
        if (status != 200 || !info) {
                text = strf("%s answers with HTTP status %ld%s", CLUSTER_INFO, status,
                                info ? "" : ", and not as an API server does");
                return give("protocol", text, o);
        }
        ca = pinned_ca(info, config, o, &end);
        if (!ca)
                return end;

        /* And now from a server that proves itself by that CA. */
        const HttpTls proved = { .ca = ca };
        q.tls = &proved;
        free(TAKE_PTR(body));
        free(TAKE_PTR(detail));
        json_putp(&info);
        info = NULL;
        r = http_request(&q, &status, &body, &detail);
        if (r < 0)
                return give(kind_of(r), detail, o);
        info = object_of(body);
        if (status != 200 || !info)
                return give("protocol", "it answers differently each time", o);
        if (!knows_token(info, token_id)) {
                text = strf("the cluster knows no token %s", token_id);
                return give("no-token", text, o);
        }
        return give("ok", "", o);
}

/* --- As the node ----------------------------------------------------------------------------- */

/* "Authorization: Bearer …", the caller frees it. -ENOENT where there is no such token. */
static int bearer_of(json_object *config, char **ret) {
        const char *given = json_get_string(config, "verdict_token"),
                   *file = json_get_string(config, "verdict_token_file");
        _cleanup_free_ char *path = file ? fb_path(file) : NULL, *text = NULL;
        int r;

        if (!given && !path)
                return -ENOENT;
        if (!given) {
                r = read_file(path, TOKEN_MAX, &text, NULL);
                if (r < 0)
                        return r;
                text[strcspn(text, " \r\n")] = '\0';
        }
        *ret = strf("Authorization: Bearer %s", given ? given : text);
        return *ret ? 0 : -ENOMEM;
}

static void drop(json_object *body, const char *section, const char *key) {
        json_object *o = json_get(body, section);

        if (json_object_is_type(o, json_type_object)) /* "status" of an error is a word */
                json_object_object_del(o, key);
}

/* Nobody needs the images of a Node object here, and what else makes it long. */
static void trim(json_object *body) {
        drop(body, "status", "images");
        drop(body, "status", "volumesAttached");
        drop(body, "status", "volumesInUse");
        drop(body, "metadata", "managedFields");
}

static int give_answer(long status, const char *body, int64_t date) {
        _cleanup_json_ json_object *o = json_object_new_object(), *answer = object_of(body);
        _cleanup_free_ char *text = NULL;

        if (!o || json_set_int(o, "status", status) < 0)
                return EXIT_FAILURE;
        if (date && json_set_int(o, "date", date) < 0)
                return EXIT_FAILURE;
        if (!answer || (status >= 300 && status < 400)) {
                text = strf("it answers with HTTP status %ld, and not as an API server does",
                                status);
                return give("protocol", text, o);
        }
        trim(answer);
        if (json_set(o, "body", json_object_get(answer)) < 0)
                return EXIT_FAILURE;
        return give("ok", "", o);
}

int kubernetes_request(json_object *config, bool as_verdict, const char *method, const char *path,
                const char *type, const char *body) {
        _cleanup_(identity_done) Identity i = {};
        _cleanup_strv_free_ char **headers = NULL;
        _cleanup_free_ char *url = NULL, *answer = NULL, *detail = NULL, *bearer = NULL;
        int64_t date = 0;
        long status = 0;
        int r;

        r = identity_read(&i);
        if (r < 0)
                return give("identity", strerror(-r), NULL);
        url = strf("%s%s", i.conf.server, path);
        if (!url || strv_extend(&headers, "Accept: application/json") < 0 ||
                        (type && strv_extendf(&headers, "Content-Type: %s", type) < 0))
                return EXIT_FAILURE;
        if (as_verdict) {
                r = bearer_of(config, &bearer);
                if (r < 0)
                        return give("verdict-token", strerror(-r), NULL);
                if (strv_extend(&headers, bearer) < 0)
                        return EXIT_FAILURE;
        }

        const HttpTls tls = {
                .ca = i.ca,
                .cert = as_verdict ? NULL : i.cert,
                .key = as_verdict ? NULL : i.key,
        };
        HttpRequest q = { .method = method,
                .url = url,
                .headers = headers,
                .body = body,
                .timeout_usec = REQUEST_USEC,
                .tls = &tls,
                .ret_date = &date };
        r = http_request(&q, &status, &answer, &detail);
        if (r < 0)
                return give(kind_of(r), r == -EFBIG ? "its answer is too long" : detail, NULL);
        return give_answer(status, answer, date);
}
