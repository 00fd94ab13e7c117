/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/helper/http.h"
#include "shared/strv.h"

#include <curl/curl.h>

#define BODY_MAX (1024 * 1024)

typedef struct Body {
        char *text;
        size_t size;
        bool too_big;
} Body;

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

static void curl_cleanupp(CURL **c) {
        if (*c)
                curl_easy_cleanup(*c);
}

static void slist_freep(struct curl_slist **l) {
        curl_slist_free_all(*l);
}

int http_request(const HttpRequest *q, long *ret_status, char **ret_body, char **ret_detail) {
        _cleanup_(curl_cleanupp) CURL *c = curl_easy_init();
        _cleanup_(slist_freep) struct curl_slist *headers = NULL;
        char error[CURL_ERROR_SIZE] = "";
        Body body = {};
        CURLcode code;

        if (!c)
                return -ENOMEM;
        STRV_FOREACH (h, q->headers) {
                struct curl_slist *l = curl_slist_append(headers, *h);
                if (!l)
                        return -ENOMEM;
                headers = l;
        }
        curl_easy_setopt(c, CURLOPT_URL, q->url);
        curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(c, CURLOPT_PROXY, "");
        curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                        (long) MIN(q->timeout_usec / USEC_PER_MSEC, 3000u));
        curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long) MAX(q->timeout_usec / USEC_PER_MSEC, 1u));
        curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error);
        curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
        curl_easy_setopt(c, CURLOPT_WRITEDATA, &body);
        if (q->method)
                curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, q->method);
        if (q->body) {
                curl_easy_setopt(c, CURLOPT_POSTFIELDS, q->body);
                curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long) strlen(q->body));
        }

        code = curl_easy_perform(c);
        _cleanup_free_ char *text = TAKE_PTR(body.text);
        if (code != CURLE_OK) {
                if (ret_detail)
                        *ret_detail = strdup(isempty(error) ? curl_easy_strerror(code) : error);
                return body.too_big                       ? -EFBIG
                       : code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT
                       : code == CURLE_COULDNT_CONNECT    ? -ECONNREFUSED
                                                          : -EIO;
        }
        if (!text && !(text = strdup("")))
                return -ENOMEM;
        curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, ret_status);
        if (ret_body)
                *ret_body = TAKE_PTR(text);
        return 0;
}
