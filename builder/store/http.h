/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What every request has in common: how this host reaches a server, who it is there, and what it
 * puts up with. */

#include "common/apt-auth.h"
#include "common/apt-host.h"
#include "store/s3.h"

#include <curl/curl.h>

/* What this host knows of servers: what its apt is set up with. */
typedef struct HttpHosts {
        AptSettings settings;
        AptAuth auth;
        char *server, *proxy; /* the last server asked about, and its proxy */
} HttpHosts;

void http_hosts_load(HttpHosts *h);
void http_hosts_done(HttpHosts *h);

/* Of one server. Borrowed, until the next is asked about. */
typedef struct HttpHost {
        const char *proxy;                /* "": none; NULL: the environment's */
        const char *ca_file, *cert, *key; /* of the host's apt; NULL: the system's, none */
        const AptLogin *login;            /* NULL: none */
        const S3Access *s3; /* signs the request, instead of a login; NULL: none does */
        bool withheld;      /* there is one, but the URL is not of TLS */
} HttpHost;

int http_hosts_find(HttpHosts *h, const char *url, HttpHost *ret);

/* "https://host:80" of a URL; NULL on out of memory. */
char *http_server(const char *url);

/* Proxy, certificates, login, user agent, protocols; time-outs of connecting and of getting less
 * than so many bytes a second. Of redirects those that stay inside of TLS are followed, without
 * the login. */
void http_prepare(CURL *e, const char *url, const HttpHost *host, long stall_bytes);

/* Whether an error, or an answer, may be another one next time. */
bool http_is_transient(CURLcode code);
bool http_answer_is_transient(long answer);
