/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Talks to the Slurm controller through scontrol, before slurmd has a configuration: with a small
 * slurm.conf of our own that names the controllers. The parsing is apart, so that it can be
 * tested. */

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

/* The controller's clock from `scontrol show config` ("Configuration data as of …", local time,
 * seconds), or -EBADMSG. */
int probe_clock(const char *output, int64_t *ret_seconds);

typedef struct NodeInfo {
        char state[128]; /* "IDLE+DRAIN" */
        char reason[512];
} NodeInfo;

/* From `scontrol --oneliner show node`: 0, or -ENOENT where the controller knows no such node. */
int node_parse(const char *output, NodeInfo *ret);

/* Whether the state has the flag, such as "DRAIN", as a word of its own. */
bool node_state_has(const char *state, const char *flag);

/* Whether slurmd of this node has registered and answers. */
bool node_state_is_registered(const char *state);

/* The small slurm.conf for scontrol; NULL on out of memory. Caller frees. */
char *client_conf(json_object *slurm);

/* Runs scontrol with it; its exit code, or negative errno. Caller frees *ret_output. */
int scontrol(char *const args[], char **ret_output);

#define DRAIN_MARK "[firstboot]"

/* "[firstboot] CODE: text" on one line of at most 200 characters, without what Slurm's parser
 * minds. */
char *drain_reason(const char *code, const char *text);
