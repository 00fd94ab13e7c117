/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is asked of a server, and what is done with each line and each piece of its answer. */

#include "store/transfer.h"
#include "shared/file-util.h"

#include "shared/strv.h"

#include <inttypes.h>
#include <strings.h>

/* A second. What can be made instead is not waited for as long. */
#define STALL_BYTES 1024L
#define STALL_BYTES_OPTIONAL (32 * 1024L)

/* Keeps the value of the first strong validator: a weak one does not vouch for bytes. */
static void take_validator(Transfer *t, const char *line, size_t n) {
        static const char *const names[] = { "etag:", "last-modified:" };

        if (t->item->sha256 || t->size > 0)
                return;
        for (size_t i = 0; i < ELEMENTSOF(names) && !t->validator; i++) {
                size_t length = strlen(names[i]);
                const char *value, *end = line + n;

                if (n <= length || strncasecmp(line, names[i], length) != 0)
                        continue;
                value = line + length;
                while (end > value && (end[-1] == '\r' || end[-1] == '\n'))
                        end--;
                while (value < end && *value == ' ')
                        value++;
                if (value < end && strncmp(value, "W/", 2) != 0)
                        t->validator = strndup(value, (size_t) (end - value));
        }
}

static size_t on_header(char *data, size_t one, size_t n, void *userdata) {
        Transfer *t = userdata;

        if (n > 5 && strncmp(data, "HTTP/", 5) == 0) { /* of a redirect's target, say */
                t->range_start = 0;
                if (t->size == 0) {
                        free(t->validator);
                        t->validator = NULL;
                }
                return n * one;
        }
        if (n > 21 && strncasecmp(data, "content-range: bytes ", 21) == 0)
                t->range_start = strtoull(data + 21, NULL, 10);
        take_validator(t, data, n);
        return n * one;
}

static size_t on_body(char *data, size_t one, size_t n, void *userdata) {
        Transfer *t = userdata;
        size_t size = one * n;

        if (!t->body) {
                long code = 0;

                t->body = true;
                curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &code);
                if (code == 206 && t->range_start != t->size) {
                        t->range_wrong = true;
                        return 0;
                }
                /* The whole file, whatever was asked for. A local one comes as it was asked for. */
                if (code != 206 && t->size > 0 && !startswith(t->item->url, "file:"))
                        t->error = transfer_start_over(t);
        }
        if (transfer_max(t) > 0 && t->size + size > transfer_max(t)) {
                t->too_long = true;
                return 0;
        }
        if (t->error == 0)
                t->error = write_all_at(t->fd, data, size, t->size);
        if (t->error < 0)
                return 0;
        t->size += size;
        return size;
}

static void set_options(Transfer *t, const HttpHost *host) {
        CURL *e = t->easy;

        http_prepare(e, t->item->url, host, t->item->optional ? STALL_BYTES_OPTIONAL : STALL_BYTES);
        t->withheld = host->withheld;
        curl_easy_setopt(e, CURLOPT_PRIVATE, t);
        curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->curl_error);
        curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
        curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
        curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
}

/* Asks for what is missing. Without a digest: for the whole file instead, if it is another one by
 * now. */
static int set_range(Transfer *t) {
        _cleanup_free_ char *header = NULL;
        char range[32];

        snprintf(range, sizeof(range), "%" PRIu64 "-", t->size);
        curl_easy_setopt(t->easy, CURLOPT_RANGE, range);
        if (t->item->sha256)
                return 0;

        header = strf("If-Range: %s", t->validator);
        curl_slist_free_all(t->headers);
        t->headers = header ? curl_slist_append(NULL, header) : NULL;
        if (!t->headers)
                return -ENOMEM;
        curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
        return 0;
}

int transfer_start(Transfer *t, const HttpHost *host) {
        t->easy = curl_easy_init();
        if (!t->easy)
                return -ENOMEM;
        t->body = t->range_wrong = t->too_long = false;
        t->error = 0;
        t->range_start = 0;
        t->curl_error[0] = '\0';
        t->resumed = t->size > 0;
        set_options(t, host);

        /* Without a validator, bytes of two versions could be mixed and nobody would notice. */
        if (t->size > 0 && !t->item->sha256 && !t->validator) {
                int r = transfer_start_over(t);

                if (r < 0)
                        return r;
        }
        return t->size > 0 && strstr(t->item->url, "://") ? set_range(t) : 0;
}
