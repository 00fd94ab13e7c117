/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where a distribution's archives are found on this host. Locks name archives ("debian",
 * "debian-security"), never hosts; the mirror in force is, in this order: --mirror, the recipe's
 * base.mirror, what the host's own apt uses, mmdebstrap's default. */

#include "common/context.h"
#include "recipe/recipe.h"

typedef struct Mirror {
        const char *origin; /* the archive's name in locks */
        char *uri;          /* without trailing slash */
        char **suites;      /* "trixie", "trixie-updates" */
} Mirror;

typedef struct Mirrors {
        Mirror *mirrors;
        size_t n;
        const char *chosen_by; /* for messages: "--mirror", "this host's apt configuration", … */
        const char *keyring;   /* that the archives' Release files must be signed by */
} Mirrors;

/* Errors are logged. -EOPNOTSUPP for a distribution that has no row in mirror.c. */
int mirrors_find(Context *ctx, const Recipe *recipe, Mirrors *ret);
const Mirror *mirrors_get(
                const Mirrors *m, const char *origin); /* NULL where it is not one of them */
void mirrors_done(Mirrors *m);
#define _cleanup_mirrors_ _cleanup_(mirrors_done)

/* The main suite of the archive of this name, as the recipe's release has it: "trixie-security".
 * NULL in *ret where its distribution has no such archive. */
int mirror_suite(const Recipe *recipe, const char *origin, char **ret);

/* A mirror as of the moment `epoch`, where the distribution has such: for messages. NULL where it
 * has none, and on out of memory. */
char *mirror_history(const Recipe *recipe, int64_t epoch);

/* "http://host/debian" to "http://host/debian-security": the sibling of a main archive. The mirror
 * itself where no part of its path is the main archive's name, as in one that carries all suites.
 * NULL on out of memory. */
char *mirror_sibling(const char *mirror, const char *main, const char *origin);
