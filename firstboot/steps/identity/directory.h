/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the LDAP servers themselves say of the probe user and group, past sssd and its cache. */

#include "shared/json-util.h"

typedef struct DirectoryAnswer {
        const char *uri;  /* of the server that it is from; borrowed from the configuration */
        const char *code; /* a reason code; NULL: user and group are there */
        bool answered;    /* it is the directory's own word that one of them is not there */
        char *text;       /* why */
        char *uid;        /* of the user; NULL where the directory does not say */
} DirectoryAnswer;

void directory_answer_done(DirectoryAnswer *a);
#define _cleanup_directory_answer_ _cleanup_(directory_answer_done)

/* Reads what firstboot-helper said of a server; text that makes no sense is an answer too, one that
 * proves nothing. 0 or -ENOMEM. */
int directory_answer_parse(const char *said, DirectoryAnswer *ret);

/* Asks one server after the other, until one has user and group. Of several that have not, the
 * answer of one that knows counts more than that of one that could not be asked, and the first
 * more than those after it. 0 or negative errno. */
int directory_ask(json_object *identity, DirectoryAnswer *ret);
