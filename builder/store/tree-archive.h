/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files of a tree as a tar archive (pax), each by descriptors, for they are what a stranger's
 * scripts left: with attributes by number, holes and hard links among them, and without times but
 * that of the content. */

#include "store/attributes.h"

struct archive;
struct archive_entry_linkresolver;

typedef struct TreeArchive {
        struct archive *to;
        struct archive_entry_linkresolver *links;
        AttributeSet set;
        int64_t latest; /* seconds: what is younger has this time */
        char *buffer;
} TreeArchive;

/* A writer of such archives, for who has no files: names and attributes are bytes. NULL: out of
 * memory. */
struct archive *tree_archive_writer(void);

/* `zstd_threads`: compress it; 0: not compressed. Negative errno; tree_archive_done() in any
 * case. */
int tree_archive_open(
                TreeArchive *a, int fd, AttributeSet set, int64_t latest, unsigned zstd_threads);

/* Adds `name` of the folder, itself where it is a link, as `path`. `label`: for SELinux, instead of
 * its own; "": none; NULL: as the set says. -ENOTSUP: a socket, which no archive has; -ECANCELED
 * after a Ctrl-C. */
int tree_archive_add(
                TreeArchive *a, int folder, const char *name, const char *path, const char *label);

int tree_archive_close(TreeArchive *a); /* all is written: 0 or negative errno */
void tree_archive_done(TreeArchive *a);
#define _cleanup_tree_archive_ _cleanup_(tree_archive_done)
