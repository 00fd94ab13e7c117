/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Talks to the Slurm controller through scontrol, before slurmd has a configuration: with a small
 * slurm.conf of our own that names the controllers. What it says of nodes is in node.h. */

#include "steps/common/step.h"

typedef enum ProbeKind {
        PROBE_GOOD,
        PROBE_UNREACHABLE,
        PROBE_CLOCK,    /* munge finds the credential too old or from the future */
        PROBE_MISMATCH, /* munge cannot decode it: another key */
        PROBE_MUNGE,    /* munged does not answer */
        PROBE_OTHER,
} ProbeKind;

/* What scontrol's words mean. */
ProbeKind probe_judge(int exit_code, const char *output);

/* The controller's clock from `scontrol show config` ("Configuration data as of …", seconds), asked
 * for in UTC: local time has hours that come twice. -EBADMSG. */
int probe_clock(const char *output, int64_t *ret_seconds);

/* The small slurm.conf for scontrol; NULL on out of memory. Caller frees. */
char *client_conf(json_object *slurm);

/* Runs scontrol with it, in UTC and without what else a caller's environment may change in its
 * output; its exit code, or negative errno. Caller frees *ret_output. */
int scontrol(char *const args[], char **ret_output);
