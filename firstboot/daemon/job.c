/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An attempt on its way: StartUnit, JobRemoved, the unit's Result, the time limit. What the end of
 * it means is verdict.c's. */

#include "daemon/job.h"
#include "daemon/journal.h"
#include "daemon/manager.h"
#include "daemon/membership.h"
#include "daemon/verdict.h"
#include "contract/paths.h"
#include "contract/result.h"
#include "contract/room.h"
#include "contract/secrets.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/older-systemd.h"
#include "shared/time-util.h"

#define STOP_USEC (20 * USEC_PER_SEC) /* firstboot@.service has TimeoutStopSec=15s */

int job_init(Job *j, const JobHost *host, const Step *step, State *state) {
        int r;

        j->host = host;
        j->step = step;
        j->state = state;
        j->unit = strf("firstboot@%s.service", step->name);
        if (!j->unit || !state_run(state, step->name))
                return -ENOMEM;
        state_run(state, step->name)->seed = retry_seed(host->seed, step->name);

        r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", j->unit, &j->unit_path);
        return r < 0 ? r : 0;
}

void job_done(Job *j) {
        job_cancel(j);
        free(TAKE_PTR(j->unit));
        free(TAKE_PTR(j->unit_path));
}

StepRun *job_run(const Job *j) {
        /* Made with the job: a lookup that cannot fail. */
        return state_run(j->state, j->step->name);
}

void job_forget_calls(Job *j) {
        j->start_slot = sd_bus_slot_unref(j->start_slot);
        j->stop_slot = sd_bus_slot_unref(j->stop_slot);
        j->query_slot = sd_bus_slot_unref(j->query_slot);
}

void job_cancel(Job *j) {
        job_forget_calls(j);
        j->deadline = sd_event_source_disable_unref(j->deadline);
        j->backoff = sd_event_source_disable_unref(j->backoff);
        free(TAKE_PTR(j->start_job));
        free(TAKE_PTR(j->stop_job));
        free(TAKE_PTR(j->early_job));
        free(TAKE_PTR(j->early_result));
        j->stopping = false;
}

static int on_backoff(sd_event_source *s, uint64_t usec, void *userdata) {
        Job *j = userdata;

        (void) s, (void) usec;
        j->backoff = sd_event_source_disable_unref(j->backoff);
        if (job_run(j)->status == STEP_RUNNING || job_run(j)->retry_usec == 0)
                return 0;

        job_run(j)->status = STEP_WAITING;
        j->host->changed(j->host->userdata);
        return 0;
}

int job_arm_backoff(Job *j) {
        j->backoff = sd_event_source_disable_unref(j->backoff);
        return sd_event_add_time(j->host->event, &j->backoff, CLOCK_MONOTONIC,
                        job_run(j)->retry_usec, 50 * USEC_PER_MSEC, on_backoff, j);
}

bool job_awaits_turn(Job *j) {
        RetryPlan plan = step_retry_plan(j->step);
        StepRun *run = job_run(j);
        uint64_t wait = run->n_attempts > 0 ? 0 : retry_first(&plan, run->seed);

        if (run->free_usec + wait <= now_usec())
                return false;
        run->retry_usec = run->free_usec + wait;
        return job_arm_backoff(j) >= 0;
}

/* The attempt is over. Takes result and message, as verdict_give() does. */
static void finish(Job *j, json_object *result, const char *code, char *message) {
        StepRun *run = job_run(j);
        _cleanup_free_ char *clean = message;

        job_cancel(j);
        result_discard(j->step->name);
        /* Everybody reads it: in the status, on the bus, in the journal. */
        if (redact_json(result, j->host->secrets) < 0)
                json_object_object_del(result, "message");
        verdict_give(j->step, run, result, code,
                        message ? redact_text(message, j->host->secrets) : NULL);
        if (run->retry_usec > 0 && job_arm_backoff(j) < 0) {
                run->status = STEP_FAILED;
                run->slow = false;
                run->retry_usec = 0;
        }
        j->host->changed(j->host->userdata);
}

static void finish_without_unit(Job *j, const char *why) {
        finish(j, NULL, "step.no-unit", strf("%s: %s", j->unit, why));
}

/* The unit has ended. job_result: NULL where nobody saw its job go. */
static void finish_by_unit(Job *j, const char *job_result, const UnitFacts *f) {
        _cleanup_json_ json_object *result = NULL;
        _cleanup_free_ char *message = NULL;
        const char *code;

        code = verdict_of_unit(j->step, job_result, f, &result, &message);
        finish(j, TAKE_PTR(result), code, TAKE_PTR(message));
}

static bool is_in_motion(const char *active_state) {
        return streq(active_state, "activating") || streq(active_state, "deactivating") ||
               streq(active_state, "reloading");
}

/* Whether the unit has run for the attempt: it is active, left a result, or ended since. */
static bool has_run(const Job *j, const UnitFacts *f) {
        const Attempt *a = step_run_last_attempt(job_run(j));

        if (streq(f->active_state, "active") || result_exists(j->step->name))
                return true;
        return a && f->exit_usec > 0 && f->exit_usec >= a->started_usec;
}

/* The unit's state, asked for after its job was removed or after we were away. */
static int on_facts(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Job *j = userdata;
        const sd_bus_error *error = sd_bus_message_get_error(m);
        _cleanup_free_ char *job_result = NULL;
        UnitFacts f;

        (void) ret_error;
        j->query_slot = sd_bus_slot_unref(j->query_slot);
        /* The bus is going; the connection's return asks again, and the time limit stands. */
        if (error && bus_is_in_trouble(error))
                return 0;

        job_result = TAKE_PTR(j->early_result);
        if (error || manager_read_facts(m, &f) < 0)
                finish_without_unit(j, error ? error->message : "systemd's answer makes no sense");
        else if (job_result) /* its job is over, for sure */
                finish_by_unit(j, job_result, &f);
        else if (is_in_motion(f.active_state))
                job_start(j); /* joins the job that is there, and tells its path */
        else if (has_run(j, &f))
                finish_by_unit(j, NULL, &f);
        else
                job_start(j);
        return 0;
}

static void query(Job *j) {
        int r;

        j->query_slot = sd_bus_slot_unref(j->query_slot);
        if (!j->host->bus)
                return;

        r = manager_ask(j->host->bus, &j->query_slot, j->unit_path, on_facts, j);
        if (r < 0)
                log_warning_errno(r,
                                "Cannot ask systemd about %s; asking again when the bus is back",
                                j->unit);
}

/* The start job is over, with the result in early_result (NULL: out of memory). "done" says that
 * the unit succeeded; after all else systemd is asked what happened. (All properties of a unit are
 * 300 and take 30 ms where a CPU is emulated.) */
static void ended(Job *j) {
        static const UnitFacts good = { .result = "success" };
        _cleanup_free_ char *result = NULL;

        if (!streq_ptr(j->early_result, "done")) {
                query(j);
                return;
        }
        result = TAKE_PTR(j->early_result);
        finish_by_unit(j, result, &good);
}

void job_removed(Job *j, const char *job_path, const char *result) {
        if (job_run(j)->status != STEP_RUNNING)
                return;

        if (j->stopping) {
                char text[FORMAT_DURATION_MAX];

                if (streq_ptr(j->stop_job, job_path))
                        finish(j, NULL, "step.timeout",
                                        strf("it did not end within %s and was stopped",
                                                        format_duration(text,
                                                                        j->step->timeout_usec)));
                return;
        }
        if (!j->start_job) { /* the reply with the path is still on its way */
                free(j->early_job);
                free(j->early_result);
                j->early_job = strdup(job_path);
                j->early_result = strdup(result);
                return;
        }
        if (!streq(j->start_job, job_path))
                return;

        free(j->early_result);
        j->early_result = strdup(result);
        ended(j);
}

static int on_started(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Job *j = userdata;
        const sd_bus_error *error = sd_bus_message_get_error(m);
        const char *path;

        (void) ret_error;
        j->start_slot = sd_bus_slot_unref(j->start_slot);
        if (error && bus_is_in_trouble(error)) {
                log_warning("systemd's answer about %s is lost (%s); finding out when the bus is back.",
                                j->unit, error->message);
                return 0;
        }
        if (error || sd_bus_message_read(m, "o", &path) < 0) {
                finish_without_unit(j, error ? error->message : "systemd's answer makes no sense");
                return 0;
        }

        free(j->start_job);
        j->start_job = strdup(path);
        if (j->early_result && streq_ptr(j->early_job, path))
                ended(j);
        return 0;
}

static int on_stopped(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Job *j = userdata;
        const char *path;

        (void) ret_error;
        j->stop_slot = sd_bus_slot_unref(j->stop_slot);
        if (sd_bus_message_get_error(m) || sd_bus_message_read(m, "o", &path) < 0)
                return 0;

        free(j->stop_job);
        j->stop_job = strdup(path);
        return 0;
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata);

/* Asks systemd to stop the unit, and sets the limit for that. False where either cannot be done. */
static bool stop(Job *j) {
        if (!j->host->bus)
                return false;
        if (manager_call(j->host->bus, &j->stop_slot, "StopUnit", j->unit, on_stopped, j) < 0)
                return false;
        return sd_event_add_time_relative(j->host->event, &j->deadline, CLOCK_MONOTONIC, STOP_USEC,
                               0, on_deadline, j) >= 0;
}

/* Once: stop the unit. Twice: it would not stop, kill it and call the attempt over. */
static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata) {
        char text[FORMAT_DURATION_MAX];
        Job *j = userdata;

        (void) s, (void) usec;
        j->deadline = sd_event_source_disable_unref(j->deadline);
        if (job_run(j)->status != STEP_RUNNING)
                return 0;

        if (!j->stopping) {
                j->stopping = true;
                if (stop(j))
                        return 0;
        } else if (j->host->bus)
                (void) manager_kill(j->host->bus, j->unit);

        finish(j, NULL, "step.timeout",
                        strf("it did not end within %s",
                                        format_duration(text, j->step->timeout_usec)));
        return 0;
}

static int arm_deadline(Job *j) {
        uint64_t started_usec = step_run_last_attempt(job_run(j))->started_usec;

        return sd_event_add_time(j->host->event, &j->deadline, CLOCK_MONOTONIC,
                        started_usec + j->step->timeout_usec, 100 * USEC_PER_MSEC, on_deadline, j);
}

/* No verdict of before is there to be taken for the attempt's. */
static int clear_results(const Job *j) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *list = NULL;
        int r;

        r = result_begin(j->step->name, &names);
        if (r < 0)
                return r;
        list = strv_join(names, ", ");
        if (names)
                journal_event("step.verdict-stale", j->step->name,
                                (unsigned) job_run(j)->n_attempts, 0,
                                "A verdict left over from before was removed: %s", strempty(list));
        return 0;
}

/* A new attempt, on record before systemd hears of it. False where it is over already. */
static bool begin_attempt(Job *j) {
        StepRun *run = job_run(j);
        int r;

        job_cancel(j);
        if (!step_run_add_attempt(run, now_usec())) {
                log_oom();
                return false;
        }
        run->status = STEP_RUNNING;
        run->retry_usec = 0;

        r = clear_results(j);
        /* What keeps work away from the node does its part all the same. */
        if (r < 0 && !j->step->run_on_failure && !membership_is_let(j->step->name)) {
                finish(j, NULL, ROOM_CODE, room_words(PATH_RUN_RESULTS, r));
                return false;
        }
        journal_event("event.step-started", j->step->name, step_run_tries(run), 0, "Starting: %s",
                        j->step->description);
        return true;
}

void job_start(Job *j) {
        int r;

        if (job_run(j)->status != STEP_RUNNING && !begin_attempt(j))
                return;
        if (!j->deadline) {
                r = arm_deadline(j);
                if (r < 0) {
                        finish(j, NULL, "step.no-unit",
                                        strf("no timer for %s: %s", j->unit, strerror(-r)));
                        return;
                }
        }

        j->start_slot = sd_bus_slot_unref(j->start_slot);
        if (!j->host->bus)
                return;
        r = manager_call(j->host->bus, &j->start_slot, "StartUnit", j->unit, on_started, j);
        if (r < 0)
                log_warning_errno(r,
                                "Cannot ask systemd to start %s; trying again when the bus is back",
                                j->unit);
}

void job_resync(Job *j) {
        StepRun *run = job_run(j);

        job_cancel(j);
        if (!step_run_last_attempt(run) && !step_run_add_attempt(run, now_usec()))
                return;
        if (arm_deadline(j) < 0)
                log_warning("No timer for %s; its unit's own limit stands.", j->unit);
        query(j);
}

void job_look_for_late_verdict(Job *j) {
        StepRun *run = job_run(j);

        /* Before an attempt it is only cleared away, and during one it is for the end to judge. */
        if (!step_status_is_final(run->status) || !result_is_left_over(j->step->name))
                return;
        verdict_late(j->step, run, j->host->secrets);
        j->host->changed(j->host->userdata);
}
