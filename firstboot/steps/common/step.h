/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What every step gets and how it gives its verdict. A step is a function (steps.h has them all),
 * run by firstboot-step as firstboot@NAME.service. It looks at what is, changes only what differs,
 * and can be killed at any moment. */

#include "contract/config-schema.h"
#include "shared/json-util.h"
#include "shared/strv.h"

/* Whether the step's work is asked for, or a look that changes nothing: FIRSTBOOT_CHECK. */
typedef enum StepCheck {
        STEP_CHECK_NO,
        STEP_CHECK_QUICK, /* a second, beside running jobs */
        STEP_CHECK_FULL,  /* with load and other machines asked; wants an idle node */
} StepCheck;

typedef struct StepContext {
        const char *name;
        json_object *config;   /* the whole merged configuration */
        json_object *section;  /* config's section with the step's name; NULL where there is none */
        json_object *instance; /* id, cloud, shape, … */
        json_object *result;   /* the verdict so far */
        uint64_t seed;         /* of this attempt's pauses (contract/retry.h) */
        bool slow;             /* fast retries are used up: a look, not a siege */
        StepCheck check;
        json_object *sources; /* "scratch.disks" → the layer of the configuration that gave it */
} StepContext;

/* Each records the verdict and its one sentence. The first failure stays; a failure outweighs a
 * defect, a defect outweighs the rest. step_fail() returns -EPROTO, step_fail_later() (trying
 * again may help) -EAGAIN, the others 0. A defect for now is looked at again, slowly. */
int step_fail(StepContext *c, const char *code, const char *format, ...) _printf_(3, 4);
int step_fail_later(StepContext *c, const char *code, const char *format, ...) _printf_(3, 4);
int step_degrade(StepContext *c, const char *code, const char *format, ...) _printf_(3, 4);
int step_degrade_for_now(StepContext *c, const char *code, const char *format, ...) _printf_(3, 4);
int step_done(StepContext *c, const char *format, ...) _printf_(2, 3);
int step_skip(StepContext *c, const char *format, ...) _printf_(2, 3);

/* A remedy better than the code's own. */
void step_remedy(StepContext *c, const char *format, ...) _printf_(2, 3);

/* Where a key of the step's own section comes from, for messages:
 * "/etc/firstboot/conf.d/40-site.json". */
const char *step_source(const StepContext *c, const char *key);

/* Adds to the verdict's figures; takes value over. */
void step_figure(StepContext *c, const char *name, json_object *value);

bool step_has_failed(const StepContext *c);

/* Runs a program with a time limit and logs what it says. Returns its exit code, or negative
 * errno (-ENOENT: not installed). *ret_last (may be NULL) is the last line of its output;
 * caller frees. */
int step_command(char *const argv[], uint64_t timeout_usec, char **ret_last);

/* What a program's failure is, in one sentence: its last words, or how it ended where it had none.
 * r and last as step_command() gave them. NULL on out of memory; caller frees. */
char *step_command_failure(const char *program, int r, const char *last);
