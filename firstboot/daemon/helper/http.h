/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One HTTP request through libcurl, with limits on time and size; no proxies, no redirects. Only
 * firstboot-helper links this, so that the daemon stays small. */

#include "shared/macro.h"

typedef struct HttpRequest {
        const char *method; /* NULL: GET; "PUT", "POST" */
        const char *url;
        char *const *headers;
        const char *body; /* of POST and PUT */
        uint64_t timeout_usec;
} HttpRequest;

/* 0 with *ret_status the HTTP status and *ret_body (at most 1 MiB; caller frees); -ETIMEDOUT,
 * -ECONNREFUSED (no connection), -EFBIG, -EIO. *ret_detail (may be NULL) gets curl's words on
 * failure; caller frees. */
int http_request(const HttpRequest *q, long *ret_status, char **ret_body, char **ret_detail);
