/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a verb hands to the rooms it calls: options of this run, the store, the progress display. */

#include "common/progress.h"
#include "shared/log.h"
#include "shared/strv.h"

typedef struct Store Store;

typedef struct Context {
        Store *store;
        Progress *progress;
        char **overlay_dirs; /* --overlays; NULL: beside the recipe */
        char *mirror;        /* --mirror: overrides the recipe's and the host's */
        bool offline;        /* --offline: whatever is not in the store is an error */
        unsigned jobs;       /* parallel jobs for compilers */
} Context;

/* Exit codes of every verb, documented in imgbuild(1). */
enum {
        EXIT_OK = 0,
        EXIT_FAILED = 1,    /* the work failed: a stage, a check, a boot */
        EXIT_USAGE = 2,     /* wrong command line */
        EXIT_BAD_INPUT = 3, /* recipe, overlay or lock is wrong */
        EXIT_FETCH = 4,     /* a download failed or did not match its digest */
        EXIT_HOST = 5, /* this host lacks something: program, permission, space; see imgbuild doctor */
        EXIT_TIMED_OUT = 124,
        EXIT_INTERRUPTED = 130,
};
int exit_code_from_errno(int r);
