/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The steps that are built in, a folder each: what main.c calls. Each returns 0 or negative errno,
 * and leaves its verdict in the context. What every step may use is in common/. */

#include "steps/common/fault.h"

int host_run(StepContext *c);
int scratch_run(StepContext *c);
int mounts_run(StepContext *c);
int identity_run(StepContext *c);
int rdma_run(StepContext *c);
int nccl_run(StepContext *c);
int python_run(StepContext *c);
int slurm_run(StepContext *c);
int kubernetes_run(StepContext *c);
int gpu_run(StepContext *c);

/* What the step made is looked at, and nothing changed: c->check says how closely. The steps that
 * are not here only look anyway, and mind c->check in run(). */
int host_check(StepContext *c);
int scratch_check(StepContext *c);
int mounts_check(StepContext *c);
int identity_check(StepContext *c);
int slurm_check(StepContext *c);
int kubernetes_check(StepContext *c);

/* Keeps work away from a node that was let in, for the fault, and does nothing else: the
 * configuration may be wrong in anything but the node's name. 0; or negative errno, with why in
 * c->result. */
int slurm_hold(StepContext *c, const Fault *f);
int kubernetes_hold(StepContext *c, const Fault *f);

/* Prints what the gpu step sees, as JSON; needs no firstbootd. 0 or negative errno. */
int gpu_facts(void);
