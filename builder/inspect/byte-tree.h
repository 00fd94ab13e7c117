/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where the bytes of a guest's files are, folder by folder, and what became of them from one image
 * to the next. */

#include "inspect/diff.h"

typedef struct ByteTree {
        char *name;                /* of a file or folder; "" for the root */
        uint64_t before, after;    /* bytes of regular files, in either image */
        uint64_t changed;          /* bytes of `after` in files that are new or other ones */
        struct ByteTree *children; /* the largest first, of either image */
        size_t n;
} ByteTree;

/* Sorts both lists. -ENOMEM. */
int byte_tree_new(FileList *a, FileList *b, ByteTree **ret);
ByteTree *byte_tree_free(ByteTree *t);
DEFINE_CLEANUP(ByteTree *, byte_tree_free);
#define _cleanup_byte_tree_ _cleanup_(byte_tree_freep)
