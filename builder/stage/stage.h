/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A plan becomes layers: each stage is made on the layers below it, in a sandbox, and kept in the
 * store under its digest. What the store has is not made again.
 *
 *         r = tools_maker(ctx, plan, &maker);
 *         r = stages_build(ctx, plan, &maker, plan->n_stages - 1);
 *         r = stages_layers(ctx, plan, plan->n_stages - 1, &layers);   for a Sandbox, or a disk
 *
 * The tools tree, a plan like any other, comes along with tools.h. */

#include "common/context.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"
#include "stage/tools.h"
#include "store/remote.h"

/* Builds stages up to and with number `last` (plan->n_stages - 1: all) that the store lacks.
 * Downloads first, all at once. Errors are logged, with the last 40 lines of a failing command and
 * the path of its whole log. */
int stages_build(Context *ctx, const Plan *plan, const Maker *maker, size_t last);

/* Downloads all that the plan's stages are made of. Errors are logged. */
int stages_fetch_all(Context *ctx, const Plan *plan);

/* The digests of that, each once, in order; the caller frees the list alone. Logs out of memory. */
int stages_list_downloads(const Plan *plan, const char ***ret);

typedef struct Pushed {
        uint64_t layers, bytes; /* written, of archives */
        uint64_t known;         /* were there already */
        uint64_t missing;       /* this store has not made them */
        uint64_t downloads, download_bytes, known_downloads;
} Pushed;

/* Writes the plan's layers that this store has and ctx->remote has not to that, signed by the key
 * (NULL: unsigned). Adds to p. Errors are logged: -EREMOTEIO where it is the server. */
int stages_push(Context *ctx, const Plan *plan, const SecretKey *key, Pushed *p);

/* The same of the downloads that the layers are made of, whose sources may not have them for
 * ever. */
int stages_push_downloads(Context *ctx, const Plan *plan, Pushed *p);

/* Trees of stages 0…last, lowest first; for sandbox layers. */
int stages_layers(Context *ctx, const Plan *plan, size_t last, char ***ret);
