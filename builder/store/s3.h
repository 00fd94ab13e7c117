/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* s3://BUCKET/PREFIX: Amazon's storage, and what speaks as it does, by signed requests (AWS
 * Signature Version 4, which libcurl makes). Who asks and where is in the environment, in the words
 * of Amazon's own tools: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; AWS_REGION or
 * AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL for a server that is not Amazon's. */

#include "shared/macro.h"

#include <curl/curl.h>

typedef struct S3Access S3Access;

bool s3_is_url(const char *url);

/* What the environment says; *ret_url is the store's https or http URL, without a slash at its
 * end (the caller frees it). -EINVAL (logged) where something is missing. */
int s3_access_new(const char *url, S3Access **ret, char **ret_url);
S3Access *s3_access_free(S3Access *a);
DEFINE_CLEANUP(S3Access *, s3_access_free);

/* Has a request signed, and follow no redirect; borrowed to it until it ends. */
void s3_sign(const S3Access *a, CURL *e);
