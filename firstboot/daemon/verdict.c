/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The end of an attempt, judged. A program that left no verdict of its own is judged by what
 * systemd saw of it. */

#include "daemon/verdict.h"
#include "daemon/journal.h"
#include "contract/paths.h"
#include "contract/result.h"
#include "contract/room.h"
#include "contract/step-codes.h"
#include "contract/secrets.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <signal.h>

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

/* How the program came to its end, by systemd's words. */
typedef enum Ending {
        ENDED_WELL,  /* exit code 0 */
        ENDED_BADLY, /* another exit code */
        CUT_SHORT,   /* it did not end by itself, or nobody knows */
} Ending;

static Ending ending_of(const char *job_result, const UnitFacts *f) {
        if (streq(f->result, "exit-code"))
                return ENDED_BADLY;
        if (!streq(f->result, "success") || (job_result && !streq(job_result, "done")))
                return CUT_SHORT;
        /* Stopped by somebody while nobody saw the job go: systemd calls that a success too. */
        return f->exit_code == CLD_KILLED || f->exit_code == CLD_DUMPED ? CUT_SHORT : ENDED_WELL;
}

/* What stands in the way of believing a verdict; the step's figures are kept. */
static json_object *disbelieve(json_object *own, const char *code, const char *message) {
        json_object *o = make_result("failed", code, message, streq(code, "step.verdict-stale"));
        json_object *figures = json_get(own, "figures");

        if (o && json_object_is_type(figures, json_type_object))
                (void) json_set(o, "figures", json_object_get(figures));
        return o;
}

static json_object *contradiction(json_object *own, const UnitFacts *f, Ending ending) {
        _cleanup_free_ char *words = result_words(own), *message = NULL;
        json_object *o;

        message = strf("its program ended with exit code %d, but its verdict is %s",
                        ending == ENDED_WELL ? 0 : f->exit_status, strempty(words));
        o = disbelieve(own, "step.verdict-contradicts", strempty(message));
        if (o && json_get_bool(own, "transient", false))
                (void) json_set(o, "transient", json_object_new_boolean(true));
        return o;
}

/* The step's own words, where its program came to its end by itself. */
static json_object *judge_words(json_object *own, const UnitFacts *f, Ending ending) {
        bool failed = streq_ptr(json_get_string(own, "status"), "failed");

        if (failed != (ending == ENDED_BADLY))
                return contradiction(own, f, ending);
        if (failed && f->exit_status == EXIT_TRANSIENT && !json_get(own, "transient"))
                (void) json_set(own, "transient", json_object_new_boolean(true));
        return json_object_get(own);
}

/* Without words that count. */
static const char *judge_unit(const Step *step, const char *job_result, const UnitFacts *f,
                Ending ending, json_object **ret_result, char **ret_message) {
        const char *code;

        if (streq_ptr(job_result, "skipped")) {
                *ret_result = make_result(
                                "skipped", NULL, "a condition of its unit does not hold", false);
                return NULL;
        }
        if (ending == ENDED_WELL)
                return NULL;
        if (ending == ENDED_BADLY && f->exit_status == EXIT_TRANSIENT) {
                *ret_result = make_result("failed", "step.exit-code",
                                "its program reports a failure that may pass (exit code 75)", true);
                return NULL;
        }

        code = reason_of(f->result, f->exit_status, ret_message);
        if (code)
                return code;
        *ret_message = strf("firstboot@%s.service: job %s, unit %s", step->name,
                        job_result ? job_result : "stopped by somebody", f->result);
        return "step.no-unit";
}

/* Where there is no room for a verdict, a program leaves none, or half of one. */
static bool is_without_words(json_object *own, const char *code) {
        return code ? streq(code, "step.verdict-unreadable") : !own;
}

const char *verdict_of_unit(const Step *step, const char *job_result, const UnitFacts *facts,
                json_object **ret_result, char **ret_message) {
        Ending ending = ending_of(job_result, facts);
        _cleanup_json_ json_object *own = NULL;
        _cleanup_free_ char *fault = NULL;
        const char *code;

        code = result_take(step->name, &own, &fault);
        if (ending != CUT_SHORT && is_without_words(own, code)) {
                int r = room_prove();

                if (r < 0 && r != -ENOMEM) {
                        *ret_message = room_words(PATH_RUN, r);
                        return ROOM_CODE;
                }
        }
        if (code && ending != CUT_SHORT) {
                *ret_result = disbelieve(own, code, strempty(fault));
                return NULL;
        }
        if (!code && own && ending != CUT_SHORT) {
                *ret_result = judge_words(own, facts, ending);
                return NULL;
        }
        /* What the step said before it was killed may tell why; that all is well, it may not. */
        if (!code && streq_ptr(json_get_string(own, "status"), "failed")) {
                *ret_result = TAKE_PTR(own);
                return NULL;
        }
        return judge_unit(step, job_result, facts, ending, ret_result, ret_message);
}

/* One line without control characters, which a server's words may have: terminals obey them. */
static void flatten(json_object *result, const char *key) {
        const char *text = json_get_string(result, key);
        _cleanup_free_ char *line = text ? strdup(text) : NULL;

        if (line && text_flatten(line))
                (void) json_set_string(result, key, line);
}

/* The run's result, from either side; a failure without a code gets one. */
static void take_result(const Step *step, StepRun *run, json_object *result, const char *code,
                char *message, bool good) {
        if (!result && (code || message)) {
                step_run_set_result(run, code, message);
                return;
        }
        free(message);
        json_putp(&run->result);
        run->result = result;
        step_codes_explain(step, result);
        flatten(result, "message");
        flatten(result, "meaning");
        flatten(result, "remedy");
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
                journal_reason(code, step->name, n, took, run->result);
}

static void end_for_now(const Step *step, StepRun *run, uint64_t took, uint64_t pause) {
        unsigned n = (unsigned) run->n_attempts;
        char text[FORMAT_DURATION_MAX];

        run->status = STEP_BACKOFF;
        run->retry_usec = now_usec() + pause;
        journal_event("event.step-retry", step->name, n, took, "%s [%s]; attempt %u of %u in %s",
                        strempty(json_get_string(run->result, "message")),
                        strempty(step_run_code(run)), n + 1, step->retries + 1,
                        format_duration(text, pause));
}

static void end_badly(const Step *step, StepRun *run, uint64_t took) {
        run->status = STEP_FAILED;
        journal_reason(strempty(step_run_code(run)), step->name, step_run_tries(run), took,
                        run->result);
}

static void go_on_slowly(const Step *step, StepRun *run, uint64_t took, uint64_t pause) {
        char text[FORMAT_DURATION_MAX];

        run->slow = true;
        run->slow_defect = run->status == STEP_DEGRADED;
        run->retry_usec = now_usec() + pause;
        journal_event("event.step-slow-retry", step->name, step_run_tries(run), took,
                        "%s [%s]; tried again in %s",
                        strempty(json_get_string(run->result, "message")),
                        strempty(step_run_code(run)), format_duration(text, pause));
}

/* Failed, and told so once; but it goes on. */
static void end_slowly(const Step *step, StepRun *run, uint64_t took, uint64_t pause) {
        if (!run->slow || run->slow_defect)
                end_badly(step, run, took);
        run->status = STEP_FAILED;
        go_on_slowly(step, run, took, pause);
}

/* A defect that may pass: the step is done, told so once, and looks again, slowly at once. */
static void end_with_defect(const Step *step, StepRun *run, uint64_t took) {
        RetryPlan plan = step_retry_plan(step);
        uint64_t pause;

        if (!run->slow || !run->slow_defect)
                end_well(step, run, "degraded", took);
        run->status = STEP_DEGRADED;
        plan.retries = 0;
        if (retry_next(&plan, run->seed, step_run_tries(run), &pause) == RETRY_SLOW)
                go_on_slowly(step, run, took, pause);
        else
                run->slow = run->slow_defect = false;
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
        char *const *passing = ARGV("step.timeout", "step.signal", ROOM_CODE);
        const char *status = json_get_string(result, "status");
        bool good = !code &&
                    (!result || (result_status_is_known(status) && !streq(status, "failed")));
        bool transient = json_get_bool(result, "transient", false) ||
                         (code && strv_contains(passing, code));
        uint64_t took;

        take_result(step, run, result, code, message, good);
        took = close_attempt(run, good ? NULL : step_run_code(run));

        run->retry_usec = 0;
        if (!good && transient) {
                end_transient(step, run, took);
                return;
        }
        if (good && transient && streq_ptr(status, "degraded")) {
                end_with_defect(step, run, took);
                return;
        }
        if (good)
                end_well(step, run, status, took);
        else
                end_badly(step, run, took);
        run->slow = run->slow_defect = false;
}

void verdict_late(const Step *step, StepRun *run, char *const *secrets) {
        _cleanup_json_ json_object *own = NULL;
        _cleanup_free_ char *wrong = NULL, *words = NULL, *clean = NULL, *message = NULL;
        unsigned n = (unsigned) run->n_attempts;

        (void) result_take(step->name, &own, &wrong);
        words = wrong ? TAKE_PTR(wrong) : own ? result_words(own) : NULL;
        clean = words ? redact_text(words, secrets) : NULL;
        message = strf("a verdict came while no attempt was under way: %s", strempty(clean));
        journal_event("step.verdict-late", step->name, n, 0, "%s", strempty(message));
        if (n == 0 || !step_status_is_good(run->status))
                return;

        run->status = STEP_FAILED;
        run->completed = false;
        step_run_set_result(run, "step.verdict-late", TAKE_PTR(message));
}
