/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The steps' programs as probes, several at once, each with a limit that holds whatever it hangs
 * in. */

#include "shared/json-util.h"

#include <sys/types.h>

typedef struct Probe {
        const char *step;
        char *const *after; /* steps whose probes must have ended before; NULL: none */
        uint64_t timeout_usec;
        bool required;

        json_object *result; /* never NULL once probes_run() is back; the caller puts it */
        uint64_t took_usec;

        pid_t pid; /* 0: not started, or over */
        int fd;    /* what it prints */
        char *text;
        size_t size;
        uint64_t started_usec;
} Probe;

/* Runs them all with FIRSTBOOT_CHECK=mode; each ends with a result that has a "status" and, where
 * that is "failed", a "code". 0 or negative errno, where no probe could be run at all. */
int probes_run(Probe *probes, size_t n, const char *mode);
void probe_done(Probe *p);
