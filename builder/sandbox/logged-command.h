/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A command in a sandbox, with its log: what it says goes to the store's log/ and to the progress
 * display, and the last lines are shown where it fails. */

#include "common/context.h"
#include "sandbox/sandbox.h"

/* `name`, a stage's id say, is what log, progress and messages call it. A failure is logged, with
 * the last 40 lines and the path of the whole log. Returns 0; -EIO for a non-zero exit; -ECANCELED;
 * -ENOSPC where the store was full; as sandbox_run(). `options` may be NULL; its on_line is called
 * too. */
int logged_command(Context *ctx, const char *name, const Sandbox *s, const SpawnOptions *options,
                char *const argv[]);

/* The same, for callers that have more to say about an exit code than -EIO. `quiet`: a non-zero
 * exit is not logged. */
int logged_command_status(Context *ctx, const char *name, const Sandbox *s,
                const SpawnOptions *options, char *const argv[], bool quiet, int *ret_status);
