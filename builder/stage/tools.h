/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The tools tree (images/tools.json): every disk tool, QEMU and OVMF of one Debian 13, run in a
 * sandbox, so that all hosts make the same bytes. It is a plan like any other, built and kept as an
 * image's stages are. */

#include "common/context.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"
#include "store/digest.h"

typedef struct Tools Tools;

/* What a base tree is made with: mmdebstrap, dpkg and apt; of family el rpm. */
typedef struct Maker {
        char *tree;             /* that has them; NULL: the host's */
        json_object *made_with; /* for the manifest: docs/disk.md. NULL for the host's */
} Maker;

/* A base is made with the programs of the tools tree, which is built for that; that of the tools
 * themselves with the host's. Nothing is built where the base is in the store. Digests of the plan
 * that did not know the tools yet (their lock is made here) do so afterwards. Errors are logged. */
int tools_maker(Context *ctx, Plan *plan, Maker *ret);
void maker_done(Maker *m);
#define _cleanup_maker_ _cleanup_(maker_done)

/* Finds the recipe and builds the tree where the store lacks it. `near`: a recipe's path whose
 * folder is looked in first; may be NULL, then ./images and DATADIR/images. Errors are logged. */
int tools_open(Context *ctx, const char *near, Tools **ret);
Tools *tools_free(Tools *t);

/* Context.run_el_tool: as tools_open() and tools_run() with the tools of family el, within limits:
 * what it reads anybody may have made. */
int tools_run_el(Context *ctx, const char *near, const Limits *limits, const SandboxBind *binds,
                size_t n_binds, char *const argv[]);
DEFINE_CLEANUP(Tools *, tools_free);
#define _cleanup_tools_free_ _cleanup_(tools_freep)

/* Fills a read-only sandbox over the tools tree; the caller adds binds and calls sandbox_run().
 * Borrowed from t. */
void tools_sandbox(Tools *t, Sandbox *ret);

/* Runs a tool with `binds`; output to a log, shown on failure; non-zero exit is -EIO. */
int tools_run(Tools *t, const SandboxBind *binds, size_t n_binds, char *const *env,
                const SpawnOptions *options, char *const argv[]);

/* Digest of the tree: part of every disk's identity. */
const char *tools_digest(const Tools *t);

/* The digest that tools_open() would give, without building anything. Nothing is logged. */
int tools_find_digest(Context *ctx, const char *near, Digest ret);
