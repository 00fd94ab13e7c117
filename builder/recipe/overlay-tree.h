/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What an overlay's folder holds besides overlay.json: nothing in it may lead out of it. */

#include "recipe/problems.h"

/* Where messages are about: the file and JSON path that name something in the overlay. */
typedef struct TreePlace {
        Problems *problems;
        const char *file;
        const char *path;
} TreePlace;

/* The absolute path of what `relative` names below `root` (absolute, resolved): a readable file or
 * folder, with symbolic links inside the overlay followed. Anything else is reported, and NULL
 * returned. */
char *overlay_resolve(const TreePlace *at, const char *root, const char *relative, bool folder);

/* The same for a script: it must also be executable and begin with "#!". */
char *overlay_resolve_script(const TreePlace *at, const char *root, const char *relative);

/* Walks `folder` (a name below root, itself no symbolic link): only files, folders and links;
 * names of one line; all readable; relative links that stay below it. Each exception is reported.
 * `links`: whether links are judged. */
void tree_check(const TreePlace *at, const char *root, const char *folder, bool links);
