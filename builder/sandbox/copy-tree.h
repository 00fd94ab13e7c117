/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Copies a folder over a tree as the image would see it: symbolic links of the tree are followed
 * inside the tree only, folders that are there keep their modes, owners are root. For overlays'
 * files/, $DESTDIR of compile stages, and unpacked artifacts. */

#include "shared/json-util.h"

#include <sys/types.h>

typedef struct CopyOptions {
        const char *what; /* for messages: the folder that is copied */

        /* 0644, or 0755 for programs and folders, as git carries them; else the source's. */
        bool git_modes;

        json_object *modes; /* {"etc/x": "0600"}: these win; may be NULL */

        /* Asked with paths relative to the source. NULL: everything is wanted. */
        bool (*wanted)(const char *path, void *userdata);
        void *userdata;
} CopyOptions;

/* Copies what is in folder `source` to `below` (made where missing) in the tree at `root`. Errors
 * are logged. */
int copy_tree(const char *source, const char *root, const char *below, const CopyOptions *options);

/* Copies one file to `path` in the tree, with this mode. Errors are logged. */
int copy_file(const char *source, const char *root, const char *path, mode_t mode);

/* The same for text. */
int copy_text(const char *text, const char *root, const char *path, mode_t mode);
