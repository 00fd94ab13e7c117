/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* systemd units from a step: started and waited for, each call with a time limit. */

#include "steps/common/step.h"
#include <systemd/sd-bus.h>

/* Opens the system bus and subscribes to systemd's signals; the caller unrefs it. */
int unit_bus(sd_bus **ret);

/* A job of systemd's that is under way. */
typedef struct UnitWait UnitWait;
UnitWait *unit_wait_free(UnitWait *w);
DEFINE_CLEANUP(UnitWait *, unit_wait_free);

/* Asks for a job and does not wait for its end; method as below. The limit is the answer's. Errors
 * as below. The caller frees *ret, at any time. */
int unit_begin(sd_bus *bus, const char *method, const char *unit, uint64_t timeout_usec,
                char **ret_result, UnitWait **ret);

/* Waits until the job is over. As unit_job(). */
int unit_wait(UnitWait *w, uint64_t timeout_usec, char **ret_result);

/* method: StartUnit, RestartUnit, ReloadOrTryRestartUnit, StopUnit. Waits until the job is over.
 * 0: it went well; -EIO: the job failed, with *ret_result (may be NULL) its result or systemd's
 * words, which the caller frees; -ENOENT: no such unit; -ETIMEDOUT. */
int unit_job(sd_bus *bus, const char *method, const char *unit, uint64_t timeout_usec,
                char **ret_result);

/* Sends a call of systemd's that answers with a job, and waits as unit_job() does. -EEXIST: there
 * is such a unit. */
int unit_call(sd_bus *bus, sd_bus_message *call, uint64_t timeout_usec, char **ret_result);

/* Why a job did not go well, in words behind "NAME.service did not start: ". r and result as
 * unit_job() gave them. */
const char *unit_job_words(int r, const char *result);

/* The step fails, for now, because unit_bus() gave an error: whatever the code's own remedy is, it
 * is the bus that wants mending. Returns as step_fail_later(). */
int unit_fail_no_bus(StepContext *c, const char *code, int error);

/* The unit's ActiveState ("active", "failed" …), which the caller frees. Negative errno. */
int unit_active_state(sd_bus *bus, const char *unit, char **ret);

/* False where systemd does not answer, too. */
bool unit_is_active(sd_bus *bus, const char *unit);

/* For checks: a failure with `code` unless PROGRAM.service is active. A bus that is away, or goes
 * just now, says nothing of it: then a process of root's called `program` counts. */
int unit_check_runs(StepContext *c, const char *code, const char *program);

/* Sends a signal to the unit's main process. 0 or negative errno. */
int unit_signal(sd_bus *bus, const char *unit, int signal);
