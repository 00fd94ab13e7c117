/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shows long work: a live list of stages on a terminal, plain lines in a pipe, JSON lines for
 * programs. Takes over the log writer while alive, so that messages and the live list do not tear
 * each other. */

#include "shared/json-util.h"

typedef enum ProgressMode {
        PROGRESS_AUTO,
        PROGRESS_PLAIN,
        PROGRESS_JSON,
        PROGRESS_LIVE,
        PROGRESS_NONE
} ProgressMode;

typedef enum ProgressState {
        PROGRESS_WAITING,
        PROGRESS_RUNNING,
        PROGRESS_CACHED,
        PROGRESS_DONE,
        PROGRESS_FAILED
} ProgressState;

typedef struct Progress Progress;

int progress_mode_from_string(const char *s, ProgressMode *ret);   /* auto plain json none */
int progress_state_from_string(const char *s, ProgressState *ret); /* as events have it */
int progress_new(ProgressMode mode, Progress **ret);
Progress *progress_free(Progress *p);
DEFINE_CLEANUP(Progress *, progress_free);
#define _cleanup_progress_free_ _cleanup_(progress_freep)

/* All accept p NULL and do nothing then. ids are copied. */
void progress_add(Progress *p, const char *id);                      /* announces a stage */
void progress_set(Progress *p, const char *id, ProgressState state); /* times itself */

/* total 0: unknown. */
void progress_bytes(Progress *p, const char *id, uint64_t done, uint64_t total);

/* The last line of a command, say. */
void progress_detail(Progress *p, const char *id, const char *text);

/* In JSON mode only. Takes fields. */
void progress_event(Progress *p, const char *event, json_object *fields);
void progress_message(Progress *p, int level, const char *line); /* the event of a logged line */

/* JSON Schema of one line of JSON mode, for `imgbuild schema progress`. The caller puts *ret. */
int progress_json_schema(json_object **ret);
