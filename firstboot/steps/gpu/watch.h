/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Clocks, and what holds them down, while something else keeps the GPUs at work. */

#include "steps/gpu/facts.h"

/* For gpu_ask_begin(): looks until load.over is set, and fills the facts …_LOAD of each GPU. */
void gpu_watch(GpuFacts *f, GpuPhase *phase, void *userdata);
