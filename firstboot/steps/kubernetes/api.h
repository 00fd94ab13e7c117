/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The API server, asked by firstboot-helper: curl and OpenSSL are in a process of their own. */

#include "shared/json-util.h"

typedef struct ApiAnswer {
        json_object *document; /* what the helper said */
        const char *kind;      /* "ok", or what went wrong; borrowed, as the others */
        const char *text;      /* why, in one line */
        const char *server;    /* of kubelet.conf; NULL */
        int status;            /* of HTTP; 0: there was no answer */
        json_object *body;
        int64_t date; /* the server's clock; 0: it did not tell */
} ApiAnswer;

void api_answer_done(ApiAnswer *a);
#define _cleanup_api_answer_ _cleanup_(api_answer_done)

/* Text that makes no sense is an answer too, of kind "helper". 0 or -ENOMEM. */
int api_answer_parse(const char *said, ApiAnswer *ret);

/* firstboot-helper kubernetes identity NODE, and discover TOKEN-ID (helper/kubernetes.h). 0 or
 * negative errno. */
int api_identity(const char *node, ApiAnswer *ret);
int api_discover(const char *token_id, ApiAnswer *ret);

/* GET of the Node object. */
int api_get_node(const char *node, ApiAnswer *ret);

/* PATCH of the node, or of its status; as the verdict's own identity or kubelet's. */
int api_patch_node(const char *node, bool as_verdict, json_object *patch, ApiAnswer *ret);
int api_patch_status(const char *node, json_object *patch, ApiAnswer *ret);

/* The server's own words for a status that is no success, or the helper's. Borrowed. */
const char *api_words(const ApiAnswer *a);
