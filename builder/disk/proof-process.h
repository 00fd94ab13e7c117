/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A child of ours that starts libguestfs' appliance while the disk is still written, takes the
 * tree's sample, and then proof-reads the files that it is told. */

#include "disk/proof-compare.h"

typedef struct ProofProcess ProofProcess;

/* `folder`: for what it writes. Errors are not logged. */
int proof_process_start(Context *ctx, const Plan *plan, char *const *layers, const char *folder,
                ProofProcess **ret);

/* As proof_compare(), for the file `image`; -EAGAIN, too, where it has no appliance for it. */
int proof_process_ask(ProofProcess *p, const DiskInfo *disk, const char *image, const char *format,
                const ProofWatch *watch);

/* Ends it and its appliance. */
ProofProcess *proof_process_free(ProofProcess *p);
DEFINE_CLEANUP(ProofProcess *, proof_process_free);
