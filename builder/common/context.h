/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a verb hands to the rooms it calls: options of this run, the store, the progress display. */

#include "common/progress.h"
#include "common/secret.h"
#include "shared/log.h"
#include "shared/strv.h"

typedef struct Store Store;
typedef struct Remote Remote;

typedef struct Context Context;
struct SandboxBind;
struct Limits;

struct Context {
        Store *store;
        Remote *remote; /* --remote-store; NULL: none */
        Progress *progress;
        char **overlay_dirs; /* --overlays; NULL: beside the recipe */
        char *mirror;        /* --mirror: overrides the recipe's and the host's */
        bool offline;        /* --offline: whatever is not in the store is an error */
        bool locked;         /* --locked: a lock that is not complete is an error, not completed */
        bool keep_lock;      /* plan: what a lock lacks is found, but not written to it */
        bool drop_downloads; /* --drop-downloads: those of finished layers go */
        bool error_shell; /* --on-error=shell: where a stage's command fails, a shell in its tree */
        unsigned jobs;    /* parallel jobs for compilers */
        unsigned downloads; /* at once; 0: as many as is good */
        Secrets secrets;    /* build --secret */

        /* Runs a program of the tools of family el (images/tools-el.json) without network: lock/
         * asks dnf by it, and has no tools tree of its own. `near` as tools_open() has it. A
         * non-zero exit is -EIO. Errors are logged. */
        int (*run_el_tool)(Context *ctx, const char *near, const struct Limits *limits,
                        const struct SandboxBind *binds, size_t n_binds, char *const argv[]);
};
