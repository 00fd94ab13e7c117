/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Time decides: a look every tick, a quick check every interval or as soon as there is a reason, a
 * full check once the node has been well for long enough and no job is on it. */

#include "daemon/watch.h"
#include "daemon/watch-check.h"
#include "daemon/watch-counters.h"
#include "daemon/watch-kernel.h"
#include "daemon/watch-units.h"
#include "contract/drained.h"
#include "contract/jobs.h"
#include "contract/paths.h"
#include "contract/quantity.h"
#include "contract/room.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/older-systemd.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <sys/random.h>

#define TICK_MAX_USEC (10 * USEC_PER_SEC)
#define COUNTERS_USEC (30 * USEC_PER_SEC)
/* However many reasons there are to look: a storm of messages is no storm of checks. */
#define SPACING_USEC (10 * USEC_PER_SEC)

struct Watch {
        sd_event *event;
        const WatchOps *ops;
        void *userdata;
        sd_bus *bus;

        bool running;
        bool blind_told;
        uint64_t interval_usec, healthy_usec, tick_usec;
        uint64_t check_usec;   /* when the next quick check is due */
        uint64_t checked_usec; /* when the last one began */
        uint64_t well_usec;    /* nothing has been wrong since, while code is set */
        sd_event_source *timer;

        Conditions conditions;
        WatchKernel kernel;
        WatchCounters counters;
        WatchUnits *units;
        WatchCheck *check;

        char *code, *text; /* what the node is not ready for */
        char *key;         /* the condition that says so; NULL: not seen since firstbootd's start */
};

const char *watch_code(const Watch *w) {
        return w->code;
}

const char *watch_text(const Watch *w) {
        return w->text;
}

static void set_code(Watch *w, const char *code, const char *text) {
        char *code_copy = code ? strdup(code) : NULL, *text_copy = text ? strdup(text) : NULL;

        free(w->code);
        free(w->text);
        w->code = code_copy;
        w->text = text_copy;
}

/* --- Verdict --------------------------------------------------------------------------------- */

/* A reason to look: as soon as the spacing lets. */
static void check_soon(Watch *w, uint64_t now) {
        w->check_usec = MIN(w->check_usec,
                        MAX(now, w->checked_usec + MIN(SPACING_USEC, w->interval_usec)));
}

static void set_key(Watch *w, const char *key) {
        char *copy = key ? strdup(key) : NULL;

        free(w->key);
        w->key = copy;
}

/* One of several reasons is told. When it goes away, one that remains takes its place: who mends a
 * node by what it says must not find that mended already. */
static void judge(Watch *w, uint64_t now) {
        const Condition *c;

        if (conditions_any(&w->conditions))
                w->well_usec = now;
        if (w->code && !w->key) {
                c = conditions_with_code(&w->conditions, w->code);
                set_key(w, c ? c->key : NULL);
        }
        c = conditions_tell(&w->conditions, w->key);
        if (!c || streq_ptr(w->key, c->key))
                return;
        set_key(w, c->key);
        set_code(w, c->code, c->text);
        w->well_usec = now;
        w->ops->changed(w->userdata);
}

/* What Slurm's Prolog, Epilog or health check has drained the node for, where the watch has found
 * nothing: a fault for a moment, or a check that did not get to its end. It is a finding like
 * others, or the drain would stay. Where something is wrong already, their check has found just
 * that. */
static void take_drain(Watch *w, uint64_t now) {
        _cleanup_free_ char *code = NULL, *message = NULL;

        if (drained_take(&code, &message) <= 0 || w->code)
                return;
        set_key(w, NULL);
        set_code(w, code, message);
        w->well_usec = now;
        w->ops->changed(w->userdata);
}

static void recover(Watch *w, uint64_t now) {
        char spent[FORMAT_DURATION_MAX];

        drained_forget(); /* of a check that was before this one */
        log_info("Nothing has been wrong for %s and a full check has passed.",
                        format_duration(spent, now - w->well_usec));
        set_code(w, NULL, NULL);
        set_key(w, NULL);
        w->ops->changed(w->userdata);
}

/* --- Checks ---------------------------------------------------------------------------------- */

static void take_finding(Watch *w, json_object *o, uint64_t now) {
        const char *step = json_get_string(o, "step"), *code = json_get_string(o, "code");
        char key[128];

        snprintf(key, sizeof(key), "check:%s", step ? step : "node");
        (void) conditions_set(&w->conditions, key, code ? code : "step.failed", now, "%s",
                        strempty(json_get_string(o, "message")));
}

/* Errors that the GPUs count, as differences; what they are all together is the gpu step's to
 * judge. */
static void take_gpus(Watch *w, json_object *report, uint64_t now) {
        json_object *steps = json_get(report, "steps");
        size_t n = json_array_length(steps);

        for (size_t i = 0; i < n; i++) {
                json_object *step = json_object_array_get_idx(steps, i);

                if (streq_ptr(json_get_string(step, "name"), "gpu"))
                        watch_counters_gpus(&w->counters,
                                        json_get(json_get(step, "figures"), "gpus"), now);
        }
}

/* Without room in /run no step leaves a verdict, and services do not start. False
 * where it says why. */
static bool look_for_room(Watch *w, uint64_t now) {
        _cleanup_free_ char *words = NULL;
        int r = room_prove();

        if (r >= 0) {
                conditions_clear(&w->conditions, "room");
                return true;
        }
        words = r == -ENOMEM ? NULL : room_words(PATH_RUN, r);
        if (!words)
                return true; /* nothing is known of it */
        (void) conditions_set(&w->conditions, "room", ROOM_CODE, now, "%s", words);
        return false;
}

/* A check that could not look proves nothing, in either direction; said once, lest a node without
 * its programs fill the journal. Its report may be what found no room, which has a code. */
static void take_blindness(Watch *w, uint64_t now) {
        if (!look_for_room(w, now))
                return;
        if (!w->blind_told)
                log_warning("A check could not look at the node; see systemctl status firstboot-check@quick.service.");
        w->blind_told = true;
        (void) conditions_set(&w->conditions, "check:none", "check.no-answer", now,
                        "no check of the node comes to an end");
}

static void on_checked(const char *mode, json_object *report, void *userdata) {
        Watch *w = userdata;
        json_object *findings = json_get(report, "findings");
        uint64_t now = now_usec();
        size_t n = json_array_length(findings);
        bool pass = json_get_bool(report, "pass", false);

        if (!w->running)
                return;
        if (!report || pass != (n == 0))
                take_blindness(w, now);
        else
                w->blind_told = false;
        take_gpus(w, report, now);
        for (size_t i = 0; i < n; i++)
                take_finding(w, json_object_array_get_idx(findings, i), now);
        if (report)
                conditions_clear_older(&w->conditions, "check:", now);
        if (conditions_unsure(&w->conditions, "check:"))
                w->check_usec = now + w->conditions.calm_usec;

        judge(w, now);
        if (w->code && streq(mode, "full") && pass && !conditions_any(&w->conditions))
                recover(w, now);
        else if (streq(mode, "full"))
                w->well_usec = now;
}

/* Between ½ and 1½ of the interval: a rack does not ask its file server at once. */
static uint64_t jitter(uint64_t usec) {
        uint64_t random;

        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
                random = (uint64_t) getpid() * UINT64_C(0x9e3779b97f4a7c15);
        return usec / 2 + random % (usec + 1);
}

static void start_check(Watch *w, const char *mode, uint64_t now) {
        int r = watch_check_start(w->check, w->bus, mode);

        w->checked_usec = now;
        w->check_usec = now + jitter(w->interval_usec);
        if (r < 0 && r != -ENOTCONN)
                take_blindness(w, now);
}

static void run_checks(Watch *w, uint64_t now) {
        if (watch_check_is_running(w->check))
                return;
        if (w->code && !conditions_any(&w->conditions) && now >= w->well_usec + w->healthy_usec) {
                /* A measurement would disturb the jobs that were left alone, and they it. */
                if (!jobs_run())
                        start_check(w, "full", now);
                else if (now >= w->check_usec)
                        start_check(w, "quick", now);
                return;
        }
        if (now >= w->check_usec)
                start_check(w, "quick", now);
}

/* --- Looking --------------------------------------------------------------------------------- */

static void look(Watch *w) {
        uint64_t now = now_usec();

        if (watch_kernel_look(&w->kernel, &w->conditions, now))
                check_soon(w, now);
        watch_counters_look(&w->counters, w->event, &w->conditions,
                        MIN(COUNTERS_USEC, 3 * w->tick_usec), now);
        watch_units_look(w->units, &w->conditions, now);
        (void) look_for_room(w, now);
        judge(w, now);
        if (w->running)
                take_drain(w, now);
        if (w->running)
                run_checks(w, now);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        Watch *w = userdata;

        (void) usec;
        look(w);
        if (!w->running)
                return 0;
        (void) sd_event_source_set_time_relative(s, w->tick_usec);
        return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

/* --- Beginning and end ----------------------------------------------------------------------- */

static uint64_t duration(json_object *section, const char *key, uint64_t fallback) {
        return MAX(config_duration(section, key, fallback), USEC_PER_MSEC);
}

int watch_begin(Watch *w, json_object *config, uint64_t from_usec, const char *code,
                const char *text) {
        json_object *section = json_get(config, "watch");
        uint64_t now = now_usec();
        int r;

        if (w->running || !json_get_bool(section, "enabled", true))
                return 0;
        r = watch_units_new(config, &w->units);
        if (r < 0)
                return r;
        w->conditions.calm_usec = duration(section, "calm", 30 * USEC_PER_SEC);
        w->interval_usec = duration(section, "interval", 300 * USEC_PER_SEC);
        w->healthy_usec = duration(section, "healthy", 600 * USEC_PER_SEC);
        w->tick_usec = MIN(TICK_MAX_USEC, MAX(w->conditions.calm_usec / 3, 50 * USEC_PER_MSEC));
        w->check_usec = now + jitter(w->interval_usec);
        w->checked_usec = 0;
        w->well_usec = now;
        watch_kernel_init(&w->kernel, from_usec);
        set_code(w, code, text);
        watch_units_set_bus(w->units, w->bus);

        r = sd_event_add_time_relative(w->event, &w->timer, CLOCK_MONOTONIC, w->tick_usec,
                        w->tick_usec / 4, on_timer, w);
        w->running = true;
        return r < 0 ? r : 0;
}

void watch_end(Watch *w) {
        w->timer = sd_event_source_disable_unref(w->timer);
        watch_check_forget(w->check);
        w->units = watch_units_free(w->units);
        watch_kernel_done(&w->kernel);
        watch_counters_done(&w->counters);
        conditions_done(&w->conditions);
        set_code(w, NULL, NULL);
        set_key(w, NULL);
        w->running = false;
}

void watch_set_bus(Watch *w, sd_bus *bus) {
        w->bus = bus;
        if (!bus)
                watch_check_forget(w->check);
        if (w->units)
                watch_units_set_bus(w->units, bus);
}

void watch_job_removed(Watch *w, const char *unit) {
        watch_check_removed(w->check, unit);
}

Watch *watch_free(Watch *w) {
        if (!w)
                return NULL;
        if (w->check)
                watch_end(w);
        watch_check_free(w->check);
        sd_event_unref(w->event);
        free(w);
        return NULL;
}

int watch_new(sd_event *event, const WatchOps *ops, void *userdata, Watch **ret) {
        Watch *w = calloc(1, sizeof(*w));
        int r;

        if (!w)
                return -ENOMEM;
        *w = (Watch) {
                .event = sd_event_ref(event),
                .ops = ops,
                .userdata = userdata,
                .kernel = { .fd = -EBADF },
        };
        r = watch_check_new(event, on_checked, w, &w->check);
        if (r < 0) {
                watch_free(w);
                return r;
        }
        *ret = w;
        return 0;
}
