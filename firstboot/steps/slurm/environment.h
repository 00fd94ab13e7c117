/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What slurmd is started with, for it has no configuration of its own. */

#include "shared/json-util.h"

/* SLURMD_OPTIONS for slurmd.service's environment file, from the section "slurm". A dynamic node
 * that the controller does not know yet cannot be drained before slurmd registers: with `drained`
 * it registers so. `fabric`, its place in the cloud's network or NULL, is one of its features. NULL
 * on out of memory; the caller frees it. */
char *slurmd_environment(json_object *slurm, const char *node, const char *fabric, bool drained);
