/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One attempt of one step: StartUnit, JobRemoved, the unit's Result, the step's own verdict; the
 * time limit, which fires whatever the bus does; the pause before the next attempt. */

#include "daemon/engine.h"
#include "contract/codes.h"
#include "daemon/journal.h"
#include "shared/log.h"
#include "contract/paths.h"
#include "contract/result.h"

#include <sys/random.h>

#define STOP_USEC (20 * USEC_PER_SEC) /* firstboot@.service has TimeoutStopSec=15s */

static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata);

static sd_event_source *drop(sd_event_source *s) {
        return sd_event_source_disable_unref(s);
}

/* Forgets what belongs to the attempt but keeps its place in the graph. */
void job_cancel(Job *j) {
        j->start_slot = sd_bus_slot_unref(j->start_slot);
        j->stop_slot = sd_bus_slot_unref(j->stop_slot);
        j->query_slot = sd_bus_slot_unref(j->query_slot);
        j->deadline = drop(j->deadline);
        j->backoff = drop(j->backoff);
        free(TAKE_PTR(j->start_job));
        free(TAKE_PTR(j->stop_job));
        free(TAKE_PTR(j->early_job));
        free(TAKE_PTR(j->early_result));
        j->stopping = false;
}

static Attempt *last_attempt(StepRun *run) {
        return run->n_attempts > 0 ? &run->attempts[run->n_attempts - 1] : NULL;
}

static int on_backoff(sd_event_source *s, uint64_t usec, void *userdata) {
        Job *j = userdata;

        (void) s;
        (void) usec;
        j->backoff = drop(j->backoff);
        if (job_run(j)->status == STEP_BACKOFF) {
                job_run(j)->status = STEP_WAITING;
                engine_advance(j->engine);
        }
        return 0;
}

int job_arm_backoff(Job *j) {
        j->backoff = drop(j->backoff);
        return sd_event_add_time(j->engine->event, &j->backoff, CLOCK_MONOTONIC,
                        job_run(j)->retry_usec, 50 * USEC_PER_MSEC, on_backoff, j);
}

/* Doubled for each attempt made, capped, and then anywhere in its upper half, so that a rack that
 * was powered on together does not ask a server together. */
static uint64_t backoff_usec(const Step *s, size_t attempts) {
        uint64_t delay = s->delay_usec, random = 0;

        for (size_t i = 1; i < attempts && delay < s->delay_max_usec; i++)
                delay *= 2;
        delay = MIN(delay, s->delay_max_usec);
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
                random = (uint64_t) getpid() * 2654435761u;
        return delay / 2 + (delay > 1 ? random % (delay / 2 + 1) : 0);
}

/* The attempt is over. result: the step's own words (taken over), or NULL with a code of ours. */
static void finish(Job *j, json_object *result, const char *code, char *message) {
        _cleanup_json_ json_object *o = result;
        StepRun *run = job_run(j);
        const char *status = json_get_string(o, "status");
        bool transient = json_get_bool(o, "transient", false) || streq_ptr(code, "step.timeout") ||
                         streq_ptr(code, "step.signal");
        bool good = code == NULL && streq_ptr(status, "failed") == false;
        Attempt *a = last_attempt(run);
        uint64_t took = 0;

        job_cancel(j);
        if (o) {
                json_putp(&run->result);
                run->result = json_object_get(o);
                free(message);
                if (!good && !json_get_string(o, "code"))
                        (void) json_set_string(run->result, "code", "step.failed");
        } else if (code || message)
                result_set(run, code, message);
        else
                json_putp(&run->result), run->result = NULL;

        const char *why = json_get_string(run->result, "code"),
                   *text = json_get_string(run->result, "message");
        if (a) {
                a->finished_usec = monotonic_usec();
                took = a->finished_usec - MIN(a->started_usec, a->finished_usec);
                snprintf(a->code, sizeof(a->code), "%s", good ? "" : strempty(why));
        }
        unsigned n = (unsigned) run->n_attempts;

        if (good) {
                run->status = streq_ptr(status, "degraded")  ? STEP_DEGRADED
                              : streq_ptr(status, "skipped") ? STEP_SKIPPED
                                                             : STEP_DONE;
                journal_event(run->status == STEP_DEGRADED    ? "event.step-degraded"
                                : run->status == STEP_SKIPPED ? "event.step-skipped"
                                                              : "event.step-done",
                                j->step->name, n, took, "%s",
                                text ? text : step_status_to_string(run->status));
                if (run->status == STEP_DEGRADED && why)
                        journal_event(why, j->step->name, n, took, "%s", strempty(text));
        } else if (transient && n <= j->step->retries) {
                uint64_t pause = backoff_usec(j->step, n);

                run->status = STEP_BACKOFF;
                run->retry_usec = monotonic_usec() + pause;
                journal_event("event.step-retry", j->step->name, n, took,
                                "%s [%s]; attempt %u of %u in %.1f s", strempty(text),
                                strempty(why), n + 1, j->step->retries + 1,
                                (double) pause / USEC_PER_SEC);
                if (job_arm_backoff(j) < 0)
                        run->status = STEP_FAILED;
        } else {
                run->status = STEP_FAILED;
                journal_event(strempty(why), j->step->name, n, took, "%s", strempty(text));
        }
        engine_changed(j->engine, j);
}

/* What ended the unit, in the words of systemd's Result property. */
static void judge(Job *j, const char *job_result, const char *unit_result, int32_t exit_status) {
        static const struct {
                const char *result, *code, *text;
        } table[] = {
                { "exit-code", "step.exit-code", "its program ended with exit code" },
                { "signal", "step.signal", "its program was killed by signal" },
                { "core-dump", "step.signal", "its program crashed with signal" },
                { "oom-kill", "step.oom-kill", "it ran out of memory" },
                { "timeout", "step.timeout", "systemd stopped it at TimeoutStartSec=" },
                { "watchdog", "step.timeout", "systemd stopped it at WatchdogSec=" },
        };
        _cleanup_json_ json_object *o = NULL;

        (void) result_take(j->step->name, &o);
        if (o && (streq(unit_result, "success") ||
                                 streq_ptr(json_get_string(o, "status"), "failed"))) {
                finish(j, TAKE_PTR(o), NULL, NULL);
                return;
        }
        if (streq_ptr(job_result, "skipped")) {
                json_object *skipped = json_object_new_object();

                (void) json_set_string(skipped, "status", "skipped");
                (void) json_set_string(skipped, "message", "a condition of its unit does not hold");
                finish(j, skipped, NULL, NULL);
                return;
        }
        if (streq(unit_result, "success") && (!job_result || streq(job_result, "done"))) {
                finish(j, NULL, NULL, NULL);
                return;
        }
        if (streq(unit_result, "exit-code") && exit_status == EXIT_TRANSIENT) {
                json_object *failed = json_object_new_object();

                (void) json_set_string(failed, "status", "failed");
                (void) json_set_string(failed, "code", "step.exit-code");
                (void) json_set_string(failed, "message",
                                "its program reports a failure that may pass (exit code 75)");
                (void) json_set(failed, "transient", json_object_new_boolean(true));
                finish(j, failed, NULL, NULL);
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].result, unit_result)) {
                        bool number = streq(unit_result, "exit-code") ||
                                      streq(unit_result, "signal") ||
                                      streq(unit_result, "core-dump");

                        finish(j, NULL, table[i].code,
                                        number ? strf("%s %d", table[i].text, exit_status)
                                               : strdup(table[i].text));
                        return;
                }
        finish(j, NULL, "step.no-unit",
                        strf("%s: job %s, unit %s", j->unit, strempty(job_result), unit_result));
}

/* Reads one property of a GetAll answer if it is one of ours. */
typedef struct UnitFacts {
        char active_state[32], result[32];
        int32_t exit_status;
        uint64_t exit_usec;
} UnitFacts;

static int read_facts(sd_bus_message *m, UnitFacts *f) {
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                const char *key, *text;

                r = sd_bus_message_read(m, "s", &key);
                if (r < 0)
                        return r;
                if (streq(key, "ActiveState") || streq(key, "Result")) {
                        r = sd_bus_message_read(m, "v", "s", &text);
                        if (r >= 0)
                                snprintf(streq(key, "Result") ? f->result : f->active_state,
                                                sizeof(f->result), "%s", text);
                } else if (streq(key, "ExecMainStatus"))
                        r = sd_bus_message_read(m, "v", "i", &f->exit_status);
                else if (streq(key, "ExecMainExitTimestampMonotonic"))
                        r = sd_bus_message_read(m, "v", "t", &f->exit_usec);
                else
                        r = sd_bus_message_skip(m, "v");
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
        }
        return r;
}

static bool bus_trouble(const sd_bus_error *error) {
        static const char *const names[] = { "org.freedesktop.DBus.Error.NoReply",
                "org.freedesktop.DBus.Error.Disconnected", "org.freedesktop.DBus.Error.Timeout",
                "org.freedesktop.DBus.Error.TimedOut", "org.freedesktop.DBus.Error.ServiceUnknown",
                "org.freedesktop.DBus.Error.NameHasNoOwner",
                "org.freedesktop.DBus.Error.LimitsExceeded" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (sd_bus_error_has_name(error, names[i]))
                        return true;
        return false;
}

/* The unit's state, asked for after its job was removed or after we were away. */
static int on_facts(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Job *j = userdata;
        const sd_bus_error *error = sd_bus_message_get_error(m);
        UnitFacts f = { .result = "success", .active_state = "inactive" };
        _cleanup_free_ char *job_result = j->early_result ? TAKE_PTR(j->early_result) : NULL;
        Attempt *a = last_attempt(job_run(j));

        (void) ret_error;
        j->query_slot = sd_bus_slot_unref(j->query_slot);
        if (error && bus_trouble(error)) {
                /* The bus is going; the connection's return asks again, and the time limit
                 * stands. */
                j->early_result = TAKE_PTR(job_result);
                return 0;
        }
        if (error || read_facts(m, &f) < 0) {
                finish(j, NULL, "step.no-unit",
                                strf("%s: %s", j->unit,
                                                error ? error->message
                                                      : "systemd's answer makes no sense"));
                return 0;
        }
        if (job_result) { /* its job is over, for sure */
                judge(j, job_result, f.result, f.exit_status);
                return 0;
        }
        if (streq(f.active_state, "activating") || streq(f.active_state, "deactivating") ||
                        streq(f.active_state, "reloading")) {
                /* Asking for the start again joins the job that is there and tells its path. */
                job_start(j);
                return 0;
        }
        if (streq(f.active_state, "active") || result_exists(j->step->name) ||
                        (a && f.exit_usec >= a->started_usec && f.exit_usec > 0))
                judge(j, NULL, f.result, f.exit_status);
        else
                job_start(j);
        return 0;
}

static void query(Job *j) {
        int r;

        j->query_slot = sd_bus_slot_unref(j->query_slot);
        if (!j->engine->bus)
                return;
        r = sd_bus_call_method_async(j->engine->bus, &j->query_slot, SYSTEMD, j->unit_path,
                        "org.freedesktop.DBus.Properties", "GetAll", on_facts, j, "s", "");
        if (r < 0)
                log_warning_errno(r,
                                "Cannot ask systemd about %s; asking again when the bus is back",
                                j->unit);
}

/* The start job is over, with the result in early_result (NULL: out of memory). "done" says that
 * the unit succeeded; after all else systemd is asked what happened. (All properties of a unit are
 * 300 and take 30 ms where a CPU is emulated.) */
static void ended(Job *j) {
        _cleanup_free_ char *result = NULL;

        if (!streq_ptr(j->early_result, "done")) {
                query(j);
                return;
        }
        result = TAKE_PTR(j->early_result);
        judge(j, result, "success", 0);
}

void job_removed(Job *j, const char *job_path, const char *result) {
        if (job_run(j)->status != STEP_RUNNING)
                return;
        if (j->stopping) {
                if (!j->stop_job || !streq(j->stop_job, job_path))
                        return;
                finish(j, NULL, "step.timeout",
                                strf("it did not end within %.0f s and was stopped",
                                                (double) j->step->timeout_usec / USEC_PER_SEC));
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
        if (error && bus_trouble(error)) {
                log_warning("systemd's answer about %s is lost (%s); finding out when the bus is back.",
                                j->unit, error->message);
                return 0;
        }
        if (error || sd_bus_message_read(m, "o", &path) < 0) {
                finish(j, NULL, "step.no-unit",
                                strf("%s: %s", j->unit,
                                                error ? error->message
                                                      : "systemd's answer makes no sense"));
                return 0;
        }
        free(j->start_job);
        j->start_job = strdup(path);
        if (j->early_job && streq(j->early_job, path) && j->early_result)
                ended(j);
        return 0;
}

void job_start(Job *j) {
        StepRun *run = job_run(j);
        bool joined = run->status == STEP_RUNNING;
        int r;

        if (!joined) {
                job_cancel(j);
                (void) result_remove(j->step->name);
                if (!step_run_add_attempt(run, monotonic_usec())) {
                        log_oom();
                        return;
                }
                run->status = STEP_RUNNING;
                run->retry_usec = 0;
                journal_event("event.step-started", j->step->name, (unsigned) run->n_attempts, 0,
                                "Starting: %s", j->step->description);
        }
        if (!j->deadline) {
                r = sd_event_add_time(j->engine->event, &j->deadline, CLOCK_MONOTONIC,
                                last_attempt(run)->started_usec + j->step->timeout_usec,
                                100 * USEC_PER_MSEC, on_deadline, j);
                if (r < 0) {
                        finish(j, NULL, "step.no-unit",
                                        strf("no timer for %s: %s", j->unit, strerror(-r)));
                        return;
                }
        }
        j->start_slot = sd_bus_slot_unref(j->start_slot);
        if (!j->engine->bus)
                return;
        r = sd_bus_call_method_async(j->engine->bus, &j->start_slot, SYSTEMD, SYSTEMD_PATH,
                        SYSTEMD_MANAGER, "StartUnit", on_started, j, "ss", j->unit, "replace");
        if (r < 0)
                log_warning_errno(r,
                                "Cannot ask systemd to start %s; trying again when the bus is back",
                                j->unit);
}

/* Called for a step that is running while firstbootd, or the bus, was away. */
void job_resync(Job *j) {
        StepRun *run = job_run(j);

        job_cancel(j);
        if (!last_attempt(run) && !step_run_add_attempt(run, monotonic_usec()))
                return;
        if (sd_event_add_time(j->engine->event, &j->deadline, CLOCK_MONOTONIC,
                            last_attempt(run)->started_usec + j->step->timeout_usec,
                            100 * USEC_PER_MSEC, on_deadline, j) < 0)
                log_warning("No timer for %s; its unit's own limit stands.", j->unit);
        query(j);
}

static int on_stopped(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Job *j = userdata;
        const char *path;

        (void) ret_error;
        j->stop_slot = sd_bus_slot_unref(j->stop_slot);
        if (!sd_bus_message_get_error(m) && sd_bus_message_read(m, "o", &path) >= 0) {
                free(j->stop_job);
                j->stop_job = strdup(path);
        }
        return 0;
}

/* Once: ask systemd to stop the unit. Twice: it would not stop, kill it and call the attempt
 * over. */
static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata) {
        Job *j = userdata;
        sd_bus *bus = j->engine->bus;

        (void) s;
        (void) usec;
        j->deadline = drop(j->deadline);
        if (job_run(j)->status != STEP_RUNNING)
                return 0;
        if (!j->stopping) {
                j->stopping = true;
                if (bus &&
                                sd_bus_call_method_async(bus, &j->stop_slot, SYSTEMD, SYSTEMD_PATH,
                                                SYSTEMD_MANAGER, "StopUnit", on_stopped, j, "ss",
                                                j->unit, "replace") >= 0 &&
                                sd_event_add_time_relative(j->engine->event, &j->deadline,
                                                CLOCK_MONOTONIC, STOP_USEC, 0, on_deadline, j) >= 0)
                        return 0;
        } else if (bus)
                (void) sd_bus_call_method_async(bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                                "KillUnit", NULL, NULL, "ssi", j->unit, "all", 9);
        finish(j, NULL, "step.timeout",
                        strf("it did not end within %.0f s",
                                        (double) j->step->timeout_usec / USEC_PER_SEC));
        return 0;
}
