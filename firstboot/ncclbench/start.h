/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One operation: measure.c checks what it leaves, timing.c how long it takes. */

#include "ncclbench/worker.h"

/* Where a GPU's operation reads and writes. Small operations walk through the buffer from one
 * iteration to the next. */
void row_buffers(const Worker *w, const Row *row, const Gpu *gpu, bool in_place, unsigned iteration,
                char **ret_send, char **ret_receive);

/* Enqueues it on all GPUs of this process. 0, or -EIO with w->failure set, as all here. */
int row_start(Worker *w, const Row *row, bool in_place, unsigned iteration);

/* Waits until all streams are at rest. */
int row_finish(Worker *w, const Row *row, bool in_place);

/* All processes pass together. */
int worker_barrier(Worker *w);
