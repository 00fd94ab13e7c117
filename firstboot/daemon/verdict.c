/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The end of an attempt, judged. A program that left no verdict of its own is judged by what
 * systemd saw of it. */

#include "daemon/verdict.h"
#include "daemon/journal.h"
#include "contract/result.h"
#include "shared/time-util.h"

/* A result as the step's program would have left it. */
static json_object *make_result(
                const char *status, const char *code, const char *message, bool transient) {
        json_object *o = json_object_new_object();

        (void) json_set_fields(o, JSON_STRING("status", status), JSON_STRING("code", code),
                        JSON_STRING("message", message));
        if (transient)
                (void) json_set(o, "transient", json_object_new_boolean(true));
        return o;
}

/* systemd's Result property as a reason; NULL where the table does not have it. */
static const char *reason_of(const char *unit_result, int32_t exit_status, char **ret_message) {
        static const struct {
                const char *result, *code, *text;
                bool number; /* the exit status belongs to it */
        } table[] = {
                { "exit-code", "step.exit-code", "its program ended with exit code", true },
                { "signal", "step.signal", "its program was killed by signal", true },
                { "core-dump", "step.signal", "its program crashed with signal", true },
                { "oom-kill", "step.oom-kill", "it ran out of memory", false },
                { "timeout", "step.timeout", "systemd stopped it at TimeoutStartSec=", false },
                { "watchdog", "step.timeout", "systemd stopped it at WatchdogSec=", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                if (!streq(table[i].result, unit_result))
                        continue;
                *ret_message = table[i].number ? strf("%s %d", table[i].text, exit_status)
                                               : strdup(table[i].text);
                return table[i].code;
        }
        return NULL;
}

const char *verdict_of_unit(const Step *step, const char *job_result, const UnitFacts *facts,
                json_object **ret_result, char **ret_message) {
        bool success = streq(facts->result, "success");
        _cleanup_json_ json_object *own = NULL;
        const char *code;

        (void) result_take(step->name, &own);
        if (own && (success || streq_ptr(json_get_string(own, "status"), "failed"))) {
                *ret_result = TAKE_PTR(own);
                return NULL;
        }
        if (streq_ptr(job_result, "skipped")) {
                *ret_result = make_result(
                                "skipped", NULL, "a condition of its unit does not hold", false);
                return NULL;
        }
        if (success && (!job_result || streq(job_result, "done")))
                return NULL;
        if (streq(facts->result, "exit-code") && facts->exit_status == EXIT_TRANSIENT) {
                *ret_result = make_result("failed", "step.exit-code",
                                "its program reports a failure that may pass (exit code 75)", true);
                return NULL;
        }

        code = reason_of(facts->result, facts->exit_status, ret_message);
        if (code)
                return code;
        *ret_message = strf("firstboot@%s.service: job %s, unit %s", step->name,
                        strempty(job_result), facts->result);
        return "step.no-unit";
}

/* The run's result, from either side; a failure without a code gets one. */
static void take_result(
                StepRun *run, json_object *result, const char *code, char *message, bool good) {
        if (!result && (code || message)) {
                step_run_set_result(run, code, message);
                return;
        }
        free(message);
        json_putp(&run->result);
        run->result = result;
        if (result && !good && !json_get_string(result, "code"))
                (void) json_set_string(result, "code", "step.failed");
}

/* Notes the end of the attempt; returns how long it took. */
static uint64_t close_attempt(StepRun *run, const char *code) {
        Attempt *a = step_run_last_attempt(run);

        if (!a)
                return 0;
        a->finished_usec = now_usec();
        snprintf(a->code, sizeof(a->code), "%s", strempty(code));
        return a->finished_usec - MIN(a->started_usec, a->finished_usec);
}

static void end_well(const Step *step, StepRun *run, const char *status, uint64_t took) {
        const char *code = step_run_code(run), *text = json_get_string(run->result, "message");
        const char *event = "event.step-done";
        unsigned n = step_run_tries(run);

        run->status = STEP_DONE;
        if (streq_ptr(status, "degraded")) {
                run->status = STEP_DEGRADED;
                event = "event.step-degraded";
        } else if (streq_ptr(status, "skipped")) {
                run->status = STEP_SKIPPED;
                event = "event.step-skipped";
        }
        if (run->status != STEP_SKIPPED)
                run->completed = true;

        journal_event(event, step->name, n, took, "%s",
                        text ? text : step_status_to_string(run->status));
        if (run->status == STEP_DEGRADED && code)
                journal_event(code, step->name, n, took, "%s", strempty(text));
}

static void end_for_now(const Step *step, StepRun *run, uint64_t took, uint64_t pause) {
        unsigned n = (unsigned) run->n_attempts;

        run->status = STEP_BACKOFF;
        run->retry_usec = now_usec() + pause;
        journal_event("event.step-retry", step->name, n, took,
                        "%s [%s]; attempt %u of %u in %.1f s",
                        strempty(json_get_string(run->result, "message")),
                        strempty(step_run_code(run)), n + 1, step->retries + 1,
                        (double) pause / USEC_PER_SEC);
}

static void end_badly(const Step *step, StepRun *run, uint64_t took) {
        run->status = STEP_FAILED;
        journal_event(strempty(step_run_code(run)), step->name, step_run_tries(run), took, "%s",
                        strempty(json_get_string(run->result, "message")));
}

/* Failed, and told so once; but it goes on. */
static void end_slowly(const Step *step, StepRun *run, uint64_t took, uint64_t pause) {
        if (!run->slow)
                end_badly(step, run, took);
        run->status = STEP_FAILED;
        run->slow = true;
        run->retry_usec = now_usec() + pause;
        journal_event("event.step-slow-retry", step->name, step_run_tries(run), took,
                        "%s [%s]; tried again in %.1f min",
                        strempty(json_get_string(run->result, "message")),
                        strempty(step_run_code(run)), (double) pause / USEC_PER_SEC / 60);
}

/* What follows a failure that may pass. */
static void end_transient(const Step *step, StepRun *run, uint64_t took) {
        RetryPlan plan = step_retry_plan(step);
        uint64_t pause;

        switch (retry_next(&plan, run->seed, step_run_tries(run), &pause)) {
        case RETRY_FAST:
                end_for_now(step, run, took, pause);
                return;
        case RETRY_SLOW:
                end_slowly(step, run, took, pause);
                return;
        case RETRY_NEVER:
                end_badly(step, run, took);
        }
}

void verdict_give(const Step *step, StepRun *run, json_object *result, const char *code,
                char *message) {
        const char *status = json_get_string(result, "status");
        bool good = !code && !streq_ptr(status, "failed");
        bool transient = json_get_bool(result, "transient", false) ||
                         streq_ptr(code, "step.timeout") || streq_ptr(code, "step.signal");
        uint64_t took;

        take_result(run, result, code, message, good);
        took = close_attempt(run, good ? NULL : step_run_code(run));

        run->retry_usec = 0;
        if (!good && transient) {
                end_transient(step, run, took);
                return;
        }
        if (good)
                end_well(step, run, status, took);
        else
                end_badly(step, run, took);
        run->slow = false;
}
