/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a script needs to know and nobody else may: tokens, keys, logins. Read from files that the
 * user names, handed to one stage, and looked for in what that stage leaves. */

#include "shared/macro.h"

#define SECRET_MIN 8 /* bytes: what is shorter may be anywhere by chance */
#define SECRET_MAX (64 * 1024)

/* Bytes by which the secret would be noticed: itself, long lines of it, and their base64. */
typedef struct Trace {
        char *bytes;
        size_t size;
} Trace;

#define TRACES_MAX 32

typedef struct Secret {
        char *name, *value; /* the value is the file, byte by byte */
        size_t size;
        Trace traces[TRACES_MAX];
        size_t n_traces;
} Secret;

typedef struct Secrets {
        Secret *secrets;
        size_t n;
} Secrets;

/* Whether that is NAME=FILE; -EINVAL, logged. */
int secrets_check_argument(const char *argument);

/* Reads "NAME=FILE". -EINVAL where that cannot be (logged), -ENOMEM. From then on the program
 * leaves no core. */
int secrets_add(Secrets *s, const char *argument);
const Secret *secrets_find(const Secrets *s, const char *name); /* NULL: not given */
void secrets_done(Secrets *s);                                  /* wipes them */
#define _cleanup_secrets_ _cleanup_(secrets_done)

/* Whether there is a trace of the secret in it. */
bool secret_is_in(const Secret *s, const void *data, size_t size);
size_t secret_longest_trace(const Secret *s);

/* The line with "[secret NAME]" in place of each trace. `secrets` ends with NULL. NULL on out of
 * memory. */
char *secrets_mask(const Secret *const *secrets, const char *line);
