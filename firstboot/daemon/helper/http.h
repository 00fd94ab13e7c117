/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One HTTP request through libcurl, with limits on time and size; no proxies, no redirects. Only
 * firstboot-helper links this, so that the daemon stays small. */

#include "shared/macro.h"

/* For what has a certificate authority of its own. PEM texts and files; each may be NULL. */
typedef struct HttpTls {
        const char *ca;
        const char *cert, *key;
        const char *cert_file, *key_file;
        bool unverified; /* the server may be anybody: what it says is proved in another way */
} HttpTls;

typedef struct HttpRequest {
        const char *method; /* NULL: GET; "PUT", "POST" */
        const char *url;
        char *const *headers;
        const char *body; /* of POST, PUT and PATCH */
        uint64_t timeout_usec;
        const HttpTls *tls; /* NULL: the system's authorities. Else https alone */
        int64_t *ret_date; /* the server's clock, seconds; untouched where it does not tell. NULL */
} HttpRequest;

/* 0 with *ret_status the HTTP status and *ret_body (at most 1 MiB; caller frees); -ETIMEDOUT,
 * -ECONNREFUSED (no connection), -EKEYREJECTED (not the certificate of an authority that is
 * trusted, or not by its time), -EFBIG, -EIO. *ret_detail (may be NULL) gets curl's words on
 * failure; caller frees. */
int http_request(const HttpRequest *q, long *ret_status, char **ret_body, char **ret_detail);
