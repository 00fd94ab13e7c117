/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A list of files and their SHA-256, as sha256sum writes it. */

#include "store/digest.h"

typedef struct Sum {
        char *name;
        Digest digest;
        uint64_t size; /* 0 where it is read from a list */
} Sum;

typedef struct Sums {
        Sum *sums;
        size_t n;
} Sums;

void sums_done(Sums *s);
#define _cleanup_sums_ _cleanup_(sums_done)

/* The name of a file in a folder, and nothing that leads out of it or is hidden in it. */
bool sums_name_valid(const char *name);

const Sum *sums_find(const Sums *s, const char *name); /* NULL: not in the list */
int sums_add(Sums *s, const char *name, const char *digest, uint64_t size); /* 0 or -ENOMEM */
void sums_sort(Sums *s);

/* "DIGEST  NAME\n" each; NULL on out of memory. */
char *sums_format(const Sums *s);

/* Exactly that; -EBADMSG for anything else, a name given twice among it. */
int sums_parse(const char *text, size_t size, Sums *ret);
