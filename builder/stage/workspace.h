/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Folders of scratch that one installation of packages needs, whichever family has them:
 *
 *   _cleanup_workspace_ Workspace w = {};
 *   r = workspace_make(b, blobs, names, &w); */

#include "stage/internal.h"

typedef struct Workspace {
        char *packages; /* the locked files, under their names */
        char *shims;    /* shims.h */
        char *later;    /* what these note */
} Workspace;

/* Errors are logged. */
int workspace_make(StageBuild *b, char *const *blobs, char *const *names, Workspace *ret);
void workspace_done(Workspace *w);
#define _cleanup_workspace_ _cleanup_(workspace_done)
