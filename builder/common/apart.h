/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Work in a process of its own, beside what its parent does meanwhile: not for the terminal's
 * Ctrl-C, which is the parent's, and never longer there than the parent. */

#include "common/context.h"

typedef struct Apart Apart;

/* The context has no progress display: that is the parent's. Returns 0, up to APART_MAX, or a
 * negative errno. */
typedef int (*apart_function)(Context *ctx, void *userdata);
#define APART_MAX 100

/* Begins fn. What it writes to *userdata stays in its process, but for what is mapped as shared.
 * Negative errno where there is no process to be had; not logged. */
int apart_begin(Context *ctx, apart_function fn, void *userdata, Apart **ret);

/* Waits for the end, logs what fn logged, and returns what it returned; -ECANCELED on a Ctrl-C.
 * `what` names it where its process was ended by a signal. */
int apart_finish(Apart *a, const char *what);

/* Ends it where it is still at work, as a Ctrl-C would. */
Apart *apart_free(Apart *a);
DEFINE_CLEANUP(Apart *, apart_free);
#define _cleanup_apart_free_ _cleanup_(apart_freep)

/* Whether a child has ended within so many microseconds; then it is waited for. */
bool child_has_ended(pid_t pid, uint64_t usec);
