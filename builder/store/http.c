/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libcurl, as downloads and the remote store use it. */

#include "store/http.h"

#include "shared/log.h"
#include "shared/strv.h"

#define CONNECT_TIMEOUT_SECONDS 15
#define REDIRECTS_MAX 8

void http_hosts_load(HttpHosts *h) {
        curl_global_init(CURL_GLOBAL_DEFAULT);
        if (apt_settings_load(&h->settings) < 0)
                log_debug("This host has no apt to ask for proxies; the environment's count");
        if (apt_auth_load(&h->auth) < 0)
                log_debug("This host has no apt to ask for logins");
}

void http_hosts_done(HttpHosts *h) {
        apt_settings_done(&h->settings);
        apt_auth_done(&h->auth);
        free(h->server);
        free(h->proxy);
}

char *http_server(const char *url) {
        const char *scheme = strstr(url, "://");

        if (!scheme)
                return strdup(url);
        return strndup(url, (size_t) (scheme - url) + 3 + strcspn(scheme + 3, "/"));
}

/* Asked once a server: finding out may take running a program. */
static int find_proxy(HttpHosts *h, const char *url) {
        _cleanup_free_ char *server = http_server(url);
        char *proxy = NULL;
        int r;

        if (!server)
                return -ENOMEM;
        if (streq_ptr(h->server, server))
                return 0;
        r = apt_settings_proxy(&h->settings, server, &proxy);
        if (r < 0)
                return r;
        free(h->server);
        free(h->proxy);
        h->server = TAKE_PTR(server);
        h->proxy = proxy;
        return 0;
}

int http_hosts_find(HttpHosts *h, const char *url, HttpHost *ret) {
        int r = find_proxy(h, url);

        if (r < 0)
                return r;
        *ret = (HttpHost) {
                .proxy = h->proxy,
                .ca_file = apt_settings_tls(&h->settings, "CAInfo", url),
                .cert = apt_settings_tls(&h->settings, "SslCert", url),
                .key = apt_settings_tls(&h->settings, "SslKey", url),
                .login = apt_auth_for(&h->auth, url),
                .withheld = startswith(url, "http://") && apt_auth_find(&h->auth, url),
        };
        return 0;
}

static long stall_seconds(void) {
        const char *s = getenv("IMGBUILD_FETCH_STALL_SECONDS");
        long n = s ? strtol(s, NULL, 10) : 0;

        return n > 0 ? n : 30;
}

/* A redirect may neither reach local files nor leave TLS. */
static void set_protocols(CURL *e, bool secure) {
#if LIBCURL_VERSION_NUM >= 0x075500
        curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https,file");
        curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
#else
        curl_easy_setopt(e, CURLOPT_PROTOCOLS,
                        (long) (CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE));
        curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS,
                        (long) (secure ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/* A login is for this server alone: curl does not take it along to where a redirect leads. */
static void set_host(CURL *e, const HttpHost *host) {
        if (host->proxy)
                curl_easy_setopt(e, CURLOPT_PROXY, host->proxy);
        if (host->ca_file)
                curl_easy_setopt(e, CURLOPT_CAINFO, host->ca_file);
        if (host->cert)
                curl_easy_setopt(e, CURLOPT_SSLCERT, host->cert);
        if (host->key)
                curl_easy_setopt(e, CURLOPT_SSLKEY, host->key);
        if (host->s3)
                s3_sign(host->s3, e);
        if (host->s3 || !host->login)
                return;
        curl_easy_setopt(e, CURLOPT_HTTPAUTH, (long) CURLAUTH_BASIC);
        curl_easy_setopt(e, CURLOPT_USERNAME, host->login->login);
        curl_easy_setopt(e, CURLOPT_PASSWORD, host->login->password);
}

void http_prepare(CURL *e, const char *url, const HttpHost *host, long stall_bytes) {
        curl_easy_setopt(e, CURLOPT_URL, url);
        curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(e, CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(e, CURLOPT_USERAGENT, "imgbuild/" VERSION);
        curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 1L);
        curl_easy_setopt(e, CURLOPT_MAXREDIRS, (long) REDIRECTS_MAX);
        curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT, (long) CONNECT_TIMEOUT_SECONDS);
        curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, stall_bytes);
        curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, stall_seconds());
        set_protocols(e, startswith(url, "https://"));
        set_host(e, host);
}

bool http_is_transient(CURLcode code) {
        switch (code) {
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_CONNECT:
        case CURLE_PARTIAL_FILE:
        case CURLE_OPERATION_TIMEDOUT:
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_GOT_NOTHING:
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
        case CURLE_HTTP2:
        case CURLE_HTTP2_STREAM:
        case CURLE_AGAIN:
        case CURLE_WEIRD_SERVER_REPLY:
                return true;
        default:
                return false;
        }
}

bool http_answer_is_transient(long answer) {
        return answer == 408 || answer == 425 || answer == 429 ||
               (answer >= 500 && answer != 501 && answer != 505);
}
