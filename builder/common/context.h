/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a verb hands to the rooms it calls: options of this run, the store, the progress display. */

#include "common/progress.h"
#include "common/secret.h"
#include "shared/log.h"
#include "shared/strv.h"

typedef struct Store Store;

typedef struct Context {
        Store *store;
        Progress *progress;
        char **overlay_dirs; /* --overlays; NULL: beside the recipe */
        char *mirror;        /* --mirror: overrides the recipe's and the host's */
        bool offline;        /* --offline: whatever is not in the store is an error */
        bool locked;         /* --locked: a lock that is not complete is an error, not completed */
        bool keep_lock;      /* plan: what a lock lacks is found, but not written to it */
        bool drop_downloads; /* --drop-downloads: those of finished layers go */
        bool error_shell; /* --on-error=shell: where a stage's command fails, a shell in its tree */
        unsigned jobs;    /* parallel jobs for compilers */
        Secrets secrets;  /* build --secret */
} Context;
