/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the end of an attempt means for the step: done, degraded, skipped, failed, or tried again
 * after a pause. */

#include "daemon/manager.h"
#include "daemon/state.h"
#include "contract/step-file.h"

/* What ended the unit, in systemd's words (job_result may be NULL: not known), and what the step
 * left as its verdict, which is taken. Returns NULL with *ret_result the step's own words (NULL:
 * none were needed, it is done), or a reason code with *ret_message. The caller frees both. */
const char *verdict_of_unit(const Step *step, const char *job_result, const UnitFacts *facts,
                json_object **ret_result, char **ret_message);

/* Notes the end of the run's last attempt: result, the step's own words, or NULL with a code of
 * ours and a message (each may be NULL). Takes result and message. Where another attempt follows,
 * in STEP_BACKOFF or slowly in STEP_FAILED or STEP_DEGRADED, it is to begin at retry_usec. */
void verdict_give(const Step *step, StepRun *run, json_object *result, const char *code,
                char *message);

/* A verdict has come that nobody waited for: what was good is no longer, for which of the two words
 * is true nobody knows. A step that is not good, or never ran, stays as it is. Its words are told
 * without the secrets (may be NULL). */
void verdict_late(const Step *step, StepRun *run, char *const *secrets);
