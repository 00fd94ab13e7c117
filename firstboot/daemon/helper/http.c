/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One request, its limits, and curl's errors as ours. */

#include "daemon/helper/http.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <curl/curl.h>
#include <sys/mman.h>

#define BODY_MAX (1024 * 1024)

typedef struct Body {
        char *text;
        size_t size;
        bool too_big;
} Body;

static void body_done(Body *b) {
        free(b->text);
}

static size_t on_data(char *data, size_t size, size_t n, void *userdata) {
        Body *b = userdata;
        char *grown;

        size *= n;
        if (b->size + size > BODY_MAX) {
                b->too_big = true;
                return 0;
        }
        grown = realloc(b->text, b->size + size + 1);
        if (!grown)
                return 0;
        memcpy(grown + b->size, data, size);
        b->text = grown;
        b->size += size;
        b->text[b->size] = '\0';
        return size;
}

/* "Date: Tue, 03 Jun 2025 01:02:03 GMT" */
static size_t on_header(char *line, size_t size, size_t n, void *userdata) {
        static const char name[] = "date:";
        _cleanup_free_ char *text = NULL;
        int64_t *date = userdata;

        size *= n;
        if (size < strlen(name) || strncasecmp(line, name, strlen(name)) != 0)
                return size;
        text = strndup(line + strlen(name), size - strlen(name));
        time_t t = text ? curl_getdate(text, NULL) : -1;
        if (t >= 0)
                *date = t;
        return size;
}

static void curl_cleanupp(CURL **c) {
        if (*c)
                curl_easy_cleanup(*c);
}

static void slist_freep(struct curl_slist **l) {
        curl_slist_free_all(*l);
}

static int take_headers(char *const *headers, struct curl_slist **list) {
        STRV_FOREACH (h, headers) {
                struct curl_slist *l = curl_slist_append(*list, *h);

                if (!l)
                        return -ENOMEM;
                *list = l;
        }
        return 0;
}

/* Texts that this TLS is told of; curl before 7.77 takes them as files alone. */
typedef struct TlsFiles {
        int fds[3];
        size_t n;
} TlsFiles;

static void tls_files_done(TlsFiles *f) {
        for (size_t i = 0; i < f->n; i++)
                safe_close(f->fds[i]);
}

/* A file in memory, which is gone with this process. */
static int set_text(CURL *c, CURLoption option, const char *text, TlsFiles *files) {
        _cleanup_free_ char *path = NULL;
        int fd;

        if (!text)
                return 0;
        fd = memfd_create("tls", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        files->fds[files->n++] = fd;
        path = strf("/proc/self/fd/%d", fd);
        if (!path || write_all(fd, text, strlen(text)) < 0)
                return -ENOMEM;
        return curl_easy_setopt(c, option, path) == CURLE_OK ? 0 : -ENOMEM;
}

static void set_protocols(CURL *c, bool tls) {
#if LIBCURL_VERSION_NUM >= 0x075500
        curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, tls ? "https" : "http,https");
#else
        curl_easy_setopt(c, CURLOPT_PROTOCOLS,
                        (long) (tls ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static int set_tls(CURL *c, const HttpTls *t, TlsFiles *files) {
        int r;

        set_protocols(c, true);
        curl_easy_setopt(c, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, t->unverified ? 0L : 1L);
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, t->unverified ? 0L : 2L);
        if (t->ca) /* and no authority besides */
                curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
        r = set_text(c, CURLOPT_CAINFO, t->ca, files);
        if (r < 0)
                return r;
        r = set_text(c, CURLOPT_SSLCERT, t->cert, files);
        if (r < 0)
                return r;
        r = set_text(c, CURLOPT_SSLKEY, t->key, files);
        if (r < 0)
                return r;
        if (t->cert_file)
                curl_easy_setopt(c, CURLOPT_SSLCERT, t->cert_file);
        if (t->key_file)
                curl_easy_setopt(c, CURLOPT_SSLKEY, t->key_file);
        return 0;
}

static int set_request(CURL *c, const HttpRequest *q, struct curl_slist *headers, TlsFiles *files) {
        uint64_t timeout_msec = q->timeout_usec / USEC_PER_MSEC;

        curl_easy_setopt(c, CURLOPT_URL, q->url);
        curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(c, CURLOPT_PROXY, "");
        curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
        set_protocols(c, false);
        curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long) MIN(timeout_msec, 3000u));
        curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long) MAX(timeout_msec, 1u));

        if (q->method)
                curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, q->method);
        if (q->body) {
                curl_easy_setopt(c, CURLOPT_POSTFIELDS, q->body);
                curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long) strlen(q->body));
        }
        if (q->ret_date) {
                curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
                curl_easy_setopt(c, CURLOPT_HEADERDATA, q->ret_date);
        }
        return q->tls ? set_tls(c, q->tls, files) : 0;
}

static int errno_of(CURLcode code, const Body *body) {
        if (body->too_big)
                return -EFBIG;
        if (code == CURLE_OPERATION_TIMEDOUT)
                return -ETIMEDOUT;
        if (code == CURLE_PEER_FAILED_VERIFICATION)
                return -EKEYREJECTED;
        return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ? -ECONNREFUSED
                                                                                   : -EIO;
}

int http_request(const HttpRequest *q, long *ret_status, char **ret_body, char **ret_detail) {
        _cleanup_(curl_cleanupp) CURL *c = curl_easy_init();
        _cleanup_(slist_freep) struct curl_slist *headers = NULL;
        _cleanup_(tls_files_done) TlsFiles files = {};
        _cleanup_(body_done) Body body = {};
        char error[CURL_ERROR_SIZE] = "";
        CURLcode code;
        int r;

        if (!c)
                return -ENOMEM;
        r = take_headers(q->headers, &headers);
        if (r < 0)
                return r;
        r = set_request(c, q, headers, &files);
        if (r < 0)
                return r;
        curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error);
        curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
        curl_easy_setopt(c, CURLOPT_WRITEDATA, &body);

        code = curl_easy_perform(c);
        if (code != CURLE_OK) {
                if (ret_detail)
                        *ret_detail = strdup(isempty(error) ? curl_easy_strerror(code) : error);
                return errno_of(code, &body);
        }

        if (!body.text)
                body.text = strdup("");
        if (!body.text)
                return -ENOMEM;
        curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, ret_status);
        if (ret_body)
                *ret_body = TAKE_PTR(body.text);
        return 0;
}
