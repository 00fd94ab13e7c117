/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Requests of the remote store, one after the other over one connection. */

#include "store/http.h"
#include "store/remote.h"

struct Remote {
        char *url;    /* without a slash at its end */
        S3Access *s3; /* NULL: not of that kind */
        bool keyed, given_up;
        PublicKey key;
        RemoteTally tally;
        char **refused; /* digests */
        HttpHosts hosts;
        CURL *easy;  /* NULL: nothing was asked yet */
        pid_t asker; /* whose connection it is: a forked process has its own */
};

void remote_request_done(Remote *r);

/* The file of a URL, at most `max` bytes, with a NUL behind it. -ENOENT: it is not there;
 * -ECANCELED; else *ret_why says what is wrong. */
int remote_get(Remote *r, const char *url, size_t max, char **ret, size_t *ret_size,
                char **ret_why);

/* Whether a file of that size is there: 1 or 0; errors as above. */
int remote_has(Remote *r, const char *url, uint64_t size, char **ret_why);

typedef struct RemoteBody {
        int fd;           /* from its beginning; or */
        const char *text; /* this */
        uint64_t size;
        Context *ctx; /* to show progress; NULL: none is */
        const char *stage;
        uint64_t done;
} RemoteBody;

/* Writes the file of a URL, with the folders above it where the server wants them made. */
int remote_put(Remote *r, const char *url, RemoteBody *body, char **ret_why);
