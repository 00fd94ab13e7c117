/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Jobs of systemd's: a call answers with the job, the signal JobRemoved tells how it ended. The
 * match is there before the call, so that a job that ends at once is not missed. */

#include "steps/common/unit.h"
#include "contract/paths.h"
#include "steps/common/process.h"
#include "shared/strv.h"
#include "shared/time-util.h"

/* systemd answers a call at once; what takes its time is the job. */
#define ANSWER_USEC (60 * USEC_PER_SEC)

int unit_bus(sd_bus **ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system_with_description(&bus, "firstboot-step");
        if (r < 0)
                return r;
        r = sd_bus_call_method(
                        bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "Subscribe", NULL, NULL, NULL);
        if (r < 0 && r != -EEXIST)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

struct UnitWait {
        sd_bus *bus;
        sd_bus_slot *slot;
        char *job;   /* its path; NULL: the reply is not in yet */
        char **seen; /* "JOB RESULT" of jobs that ended, ours may be among them */
};

UnitWait *unit_wait_free(UnitWait *w) {
        if (!w)
                return NULL;
        sd_bus_slot_unref(w->slot);
        sd_bus_unref(w->bus);
        free(w->job);
        strv_free(w->seen);
        free(w);
        return NULL;
}

static int on_removed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        UnitWait *w = userdata;
        const char *path, *unit, *result;
        uint32_t id;

        (void) error;
        /* By job alone: the unit's name is its own there, not the alias that it was called by. */
        if (sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) < 0 ||
                        (w->job && !streq(path, w->job)))
                return 0;
        return strv_extendf(&w->seen, "%s %s", path, result);
}

/* The result of our job if it has ended, else NULL. */
static const char *job_result(const UnitWait *w) {
        STRV_FOREACH (s, w->seen) {
                const char *rest = startswith(*s, w->job);
                if (rest && *rest == ' ')
                        return rest + 1;
        }
        return NULL;
}

/* Sends the call, whose answer is a job. */
static int call_begin(sd_bus *bus, sd_bus_message *call, uint64_t timeout_usec, char **ret_result,
                UnitWait **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(unit_wait_freep) UnitWait *w = calloc(1, sizeof(*w));
        const char *path;
        int r;

        if (!w)
                return -ENOMEM;
        w->bus = sd_bus_ref(bus);
        r = sd_bus_match_signal(bus, &w->slot, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobRemoved",
                        on_removed, w);
        if (r < 0)
                return r;

        r = sd_bus_call(bus, call, MIN(timeout_usec, ANSWER_USEC), &error, &reply);
        if (r < 0) {
                if (ret_result)
                        *ret_result = strdup(error.message ? error.message : strerror(-r));
                if (sd_bus_error_has_name(&error, SYSTEMD ".NoSuchUnit"))
                        return -ENOENT;
                if (sd_bus_error_has_name(&error, SYSTEMD ".UnitExists"))
                        return -EEXIST;
                return r;
        }

        r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return r;
        w->job = strdup(path);
        if (!w->job)
                return -ENOMEM;
        *ret = TAKE_PTR(w);
        return 0;
}

int unit_wait(UnitWait *w, uint64_t timeout_usec, char **ret_result) {
        uint64_t deadline = now_usec() + timeout_usec;
        const char *result;
        int r;

        while (!(result = job_result(w))) {
                uint64_t now = now_usec();

                if (now >= deadline) {
                        if (ret_result)
                                *ret_result = strdup("it did not end in time");
                        return -ETIMEDOUT;
                }
                r = sd_bus_process(w->bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(w->bus, deadline - now);
                if (r < 0 && r != -EINTR)
                        return r;
        }

        r = streq(result, "done") || streq(result, "skipped") ? 0
            : streq(result, "timeout")                        ? -ETIMEDOUT
                                                              : -EIO;
        if (r < 0 && ret_result)
                *ret_result = strdup(result);
        return r;
}

int unit_call(sd_bus *bus, sd_bus_message *call, uint64_t timeout_usec, char **ret_result) {
        _cleanup_(unit_wait_freep) UnitWait *w = NULL;
        int r;

        r = call_begin(bus, call, timeout_usec, ret_result, &w);
        return r < 0 ? r : unit_wait(w, timeout_usec, ret_result);
}

int unit_begin(sd_bus *bus, const char *method, const char *unit, uint64_t timeout_usec,
                char **ret_result, UnitWait **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, method);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "ss", unit, "replace");
        return r < 0 ? r : call_begin(bus, m, timeout_usec, ret_result, ret);
}

int unit_job(sd_bus *bus, const char *method, const char *unit, uint64_t timeout_usec,
                char **ret_result) {
        _cleanup_(unit_wait_freep) UnitWait *w = NULL;
        int r;

        r = unit_begin(bus, method, unit, timeout_usec, ret_result, &w);
        return r < 0 ? r : unit_wait(w, timeout_usec, ret_result);
}

const char *unit_job_words(int r, const char *result) {
        static const struct {
                const char *result, *words;
        } known[] = {
                { "failed", "the unit failed" },
                { "timeout", "the unit took longer than its time limit" },
                { "dependency", "a unit that it needs failed" },
                { "canceled", "somebody else's job took the place of ours" },
                { "collected", "the unit was removed meanwhile" },
        };

        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (streq_ptr(known[i].result, result))
                        return known[i].words;
        return isempty(result) ? strerror(-r) : result;
}

int unit_fail_no_bus(StepContext *c, const char *code, int error) {
        int r = step_fail_later(c, code, "the system bus does not answer: %s", strerror(-error));

        step_remedy(c, "systemctl status dbus.socket dbus.service shows why; the step is tried again by itself.");
        return r;
}

int unit_signal(sd_bus *bus, const char *unit, int signal) {
        return sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "KillUnit", NULL,
                        NULL, "ssi", unit, "main", signal);
}

int unit_active_state(sd_bus *bus, const char *unit, char **ret) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = sd_bus_path_encode(SYSTEMD_PATH "/unit", unit, &path);
        if (r < 0)
                return r;
        return sd_bus_get_property_string(
                        bus, SYSTEMD, path, SYSTEMD ".Unit", "ActiveState", NULL, ret);
}

bool unit_is_active(sd_bus *bus, const char *unit) {
        _cleanup_free_ char *state = NULL;

        return unit_active_state(bus, unit, &state) >= 0 && streq(state, "active");
}

/* The same without a bus at hand. */
static int ask_active_state(const char *unit, char **ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r = unit_bus(&bus);

        return r < 0 ? r : unit_active_state(bus, unit, ret);
}

int unit_check_runs(StepContext *c, const char *code, const char *program) {
        _cleanup_free_ char *unit = strf("%s.service", program), *state = NULL;

        if (!unit)
                return -ENOMEM;
        if (ask_active_state(unit, &state) < 0)
                return process_exists(program)
                                       ? 0
                                       : step_fail_later(c, code, "%s does not run", program);
        if (streq(state, "active") || streq(state, "reloading"))
                return 0;
        return step_fail_later(c, code, "%s is %s", unit, state);
}
