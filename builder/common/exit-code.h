/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How imgbuild ends: the exit codes of every verb, documented in imgbuild(1), and which of them an
 * error is. */

enum {
        EXIT_OK = 0,
        EXIT_FAILED = 1,    /* the work failed: a stage, a check, a boot */
        EXIT_USAGE = 2,     /* wrong command line */
        EXIT_BAD_INPUT = 3, /* recipe, overlay or lock is wrong */
        EXIT_FETCH = 4,     /* a download failed or did not match its digest */
        EXIT_HOST = 5,      /* this host lacks a program, a right or space; see imgbuild doctor */
        EXIT_TIMED_OUT = 124,
        EXIT_INTERRUPTED = 130,
};

/* Takes a negative errno; anything else is EXIT_OK. */
int exit_code_from_errno(int r);
