/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A comparison as one page that needs nothing else: no script, no font, no network. */

#include "inspect/byte-tree.h"

typedef struct DiffPage {
        const char *from, *to;   /* what the two are called */
        json_object *difference; /* of diff_sides() and file_list_compare() */
        const ByteTree *bytes;   /* NULL: files were not compared */
        bool all;                /* every file, not only the first of each kind */
} DiffPage;

/* The text, which the caller frees. Whatever is in the images is text there and nothing else.
 * -ENOMEM. */
int diff_page(const DiffPage *page, char **ret, size_t *ret_size);
