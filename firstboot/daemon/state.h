/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What has happened to the steps: kept in /var/lib/firstboot/state.json, written durably at each
 * change, so that firstbootd can be restarted at any moment and power may go. Results count for
 * one boot; that a first-boot step is done counts for the instance. Another instance starts
 * afresh. */

#include "daemon/identity.h"
#include "contract/status.h"
#include "shared/json-util.h"

/* All times are CLOCK_MONOTONIC of this boot in µs, 0: not yet. */
typedef struct Attempt {
        uint64_t started_usec, finished_usec;
        char code[64]; /* why it failed; "" where it did not */
} Attempt;

typedef struct StepRun {
        char *name;
        StepStatus status;
        bool completed;      /* was done once on this instance */
        uint64_t free_usec;  /* what it waits for was done */
        uint64_t retry_usec; /* when the next attempt begins; 0: there is none to wait for */
        uint64_t seed;       /* of its pauses (contract/retry.h); not kept */
        bool slow;           /* its fast retries are used up: it has failed until one goes well */
        bool slow_defect;    /* slow, but it is degraded until then */
        unsigned slow_tries; /* begun since */
        bool despite;        /* its last attempt began though a requirement had failed */
        Attempt *attempts;
        size_t n_attempts;
        json_object *result; /* code, message, remedy, figures of the last attempt; NULL: none */
} StepRun;

typedef struct State {
        char *instance_id, *boot_id;
        Identity identity; /* by which the instance is known again */
        unsigned boots;    /* of this instance, this one included */
        NodeStatus node;
        uint64_t started_usec, settled_usec;
        char *watch_code, *watch_text; /* what the watch has found since; NULL: nothing */
        StepRun *runs;
        size_t n_runs;
} State;

State *state_free(State *s);
DEFINE_CLEANUP(State *, state_free);
#define _cleanup_state_ _cleanup_(state_freep)

typedef enum StateOrigin {
        STATE_NEW,     /* there was none, or it could not be read */
        STATE_RESUMED, /* of this very boot: firstbootd was restarted */
        STATE_NEXT_BOOT,
        STATE_OTHER_INSTANCE,
} StateOrigin;

/* Reads the state and fits it to this boot. *ret_difference: what tells another instance apart,
 * NULL otherwise. A damaged file is kept aside as PATH.broken. 0 or -ENOMEM. */
int state_load(const char *path, const Identity *now, const char *boot_id, State **ret,
                StateOrigin *ret_origin, const char **ret_difference);

/* Takes over what is known of the machine now, and names the instance by it. 0 or -ENOMEM. */
int state_learn(State *s, const Identity *now);

/* As at the begin of a boot: what was completed stays, all else is to be shown anew. */
void state_start_over(State *s);

int state_save(const State *s, const char *path);

/* The run of a step, made where there is none; NULL on out of memory. Pointers last until the next
 * call. */
StepRun *state_run(State *s, const char *name);

/* Sets what the watch has found; code NULL: nothing (any more). 0 or -ENOMEM. */
int state_set_watch(State *s, const char *code, const char *text);

/* Back to STEP_WAITING without attempts and result, for a rerun. */
void step_run_reset(StepRun *run);

/* A new attempt; of slow ones only the last is kept, for there is no end to them. NULL on out of
 * memory. */
Attempt *step_run_add_attempt(StepRun *run, uint64_t started_usec);
Attempt *step_run_last_attempt(const StepRun *run); /* NULL: none */

/* All attempts, slow ones too. */
unsigned step_run_tries(const StepRun *run);

/* How the step counts: one that is being tried again slowly has failed meanwhile, or is
 * degraded. */
StepStatus step_run_standing(const StepRun *run);

/* Sets the result to a code (may be NULL) and a message (taken over, may be NULL). */
void step_run_set_result(StepRun *run, const char *code, char *message);

/* The reason code of the result, or NULL. */
const char *step_run_code(const StepRun *run);

json_object *step_run_to_json(const StepRun *run);
