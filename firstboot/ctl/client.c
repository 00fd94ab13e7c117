/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What all verbs need: firstbootd on the bus, the status document, and looks into it. */

#include "ctl/ctl.h"
#include "contract/paths.h"
#include "contract/status-file.h"
#include "contract/status.h"
#include "shared/json-strv.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/older-systemd.h"
#include "shared/time-util.h"

#include <sys/stat.h>

#define CALL_USEC (10 * USEC_PER_SEC)

int ctl_bus(Ctl *c) {
        int r;

        if (c->bus && sd_bus_is_open(c->bus) > 0)
                return 0;

        c->bus = sd_bus_close_unref(c->bus);
        r = sd_bus_open_system(&c->bus);
        if (r < 0)
                return r;
        return sd_bus_set_method_call_timeout(c->bus, CALL_USEC);
}

static int call_json(Ctl *c, const char *method, json_object **ret, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *text;
        JsonError e = {};
        int r;

        r = ctl_bus(c);
        if (r < 0)
                return r;
        r = sd_bus_call_method(
                        c->bus, DBUS_NAME, DBUS_PATH, DBUS_MANAGER, method, error, &reply, NULL);
        if (r < 0)
                return r;
        r = sd_bus_message_read(reply, "s", &text);
        if (r < 0)
                return r;
        return json_parse(text, strlen(text), &e, ret);
}

static const char *why_silent(int r, const sd_bus_error *error) {
        if (sd_bus_error_has_name(error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
                        sd_bus_error_has_name(error, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
                return "it does not run";
        if (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY) || r == -ETIMEDOUT)
                return "it gave no answer in time";
        if (error->message)
                return error->message;
        if (r == -ENOENT || r == -ECONNREFUSED)
                return "the system bus (dbus.socket) is not there";
        return strerror(-r);
}

void ctl_log_failure(int r, const sd_bus_error *error, const char *more) {
        bool answered = sd_bus_error_has_names(error, SD_BUS_ERROR_ACCESS_DENIED,
                        SD_BUS_ERROR_LIMITS_EXCEEDED, DBUS_NAME ".Busy", DBUS_NAME ".NoSuchStep",
                        DBUS_NAME ".NotYet");

        if (answered)
                log_error("%s%s", error->message, more);
        else
                log_error("firstbootd does not answer: %s; see systemctl status firstbootd",
                                why_silent(r, error));
}

int ctl_call_json(Ctl *c, const char *method, json_object **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = call_json(c, method, ret, &error);

        if (r < 0)
                ctl_log_failure(r, &error, "");
        return r;
}

int ctl_agent_status(Ctl *c, json_object **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        return call_json(c, "GetStatus", ret, &error);
}

int ctl_status(Ctl *c, json_object **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *path = NULL;
        JsonError e = {};
        struct stat st;
        int r;

        c->silence[0] = c->unread[0] = '\0';
        r = call_json(c, "GetStatus", ret, &error);
        if (r >= 0)
                return 0;
        snprintf(c->silence, sizeof(c->silence), "%s", why_silent(r, &error));
        r = status_file_load(&e, ret, &path);
        if (r >= 0) {
                c->left_sec = stat(path, &st) < 0 ? 0 : st.st_mtim.tv_sec;
                return 0;
        }
        if (r != -ENOENT && r != -ENOMEM)
                snprintf(c->unread, sizeof(c->unread), "%s", e.message);
        return -ENOENT;
}

int ctl_log_no_status(const Ctl *c, const char *more) {
        if (c->unread[0])
                log_error("firstbootd does not answer (%s), and the status that it left, " PATH_RUN_STATUS
                          ", is no use: %s; systemctl status firstbootd says why%s",
                                c->silence, c->unread, more);
        else
                log_error("firstbootd does not run and left no status; systemctl status firstbootd says why%s",
                                more);
        return EXIT_UNKNOWN;
}

char *ctl_old_status(const Ctl *c) {
        int64_t now = (int64_t) time(NULL);
        char age[FORMAT_DURATION_MAX] = "";

        if (!c->silence[0])
                return NULL;
        /* A clock that was set since tells no age. */
        if (c->left_sec > 0 && now >= c->left_sec)
                format_duration(age, (uint64_t) (now - c->left_sec) * USEC_PER_SEC);
        return strf("firstbootd does not answer (%s): this is what it last wrote%s%s%s; systemctl status firstbootd says why",
                        c->silence, age[0] ? ", " : "", age, age[0] ? " ago" : "");
}

void ctl_warn_old_status(const Ctl *c) {
        _cleanup_free_ char *text = ctl_old_status(c);

        if (text)
                log_warning("%s", text);
}

int ctl_exit_code(json_object *status) {
        static const int codes[_NODE_STATUS_MAX] = {
                [NODE_STARTING] = EXIT_NODE_GOING,
                [NODE_READY] = EXIT_NODE_READY,
                [NODE_DEGRADED] = EXIT_NODE_DEGRADED,
                [NODE_FAILED] = EXIT_NODE_FAILED,
        };
        const char *node = json_get_string(status, "node");

        return node ? codes[node_status_from_string(node)] : EXIT_UNKNOWN;
}

json_object *status_steps(json_object *status, size_t *ret_n) {
        json_object *steps = json_get(status, "steps");

        *ret_n = json_array_length(steps);
        return *ret_n > 0 ? steps : NULL;
}

json_object *steps_find(json_object *steps, const char *name) {
        for (size_t i = 0; i < json_array_length(steps); i++) {
                json_object *step = json_object_array_get_idx(steps, i);

                if (streq_ptr(json_get_string(step, "name"), name))
                        return step;
        }
        return NULL;
}

int step_waits_for(json_object *step, char ***ret) {
        _cleanup_strv_free_ char **names = NULL, **after = NULL;
        int r;

        r = json_to_strv(json_get(step, "requires"), &names);
        if (r < 0)
                return r;
        r = json_to_strv(json_get(step, "after"), &after);
        if (r < 0)
                return r;
        r = strv_extend_strv(&names, after);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(names);
        return 0;
}

uint64_t step_duration(json_object *step) {
        json_object *attempts = json_get(step, "attempts");
        uint64_t sum = 0;

        for (size_t i = 0; i < json_array_length(attempts); i++) {
                json_object *a = json_object_array_get_idx(attempts, i);
                uint64_t from = (uint64_t) json_get_int(a, "started_usec", 0),
                         to = (uint64_t) json_get_int(a, "finished_usec", 0);

                if (to == 0)
                        to = now_usec();
                sum += to > from ? to - from : 0;
        }
        return sum;
}

char *next_try(json_object *o) {
        uint64_t at = (uint64_t) json_get_int(o, "retry_usec", 0), now = now_usec();
        char text[FORMAT_DURATION_MAX];

        if (json_get_bool(o, "trying", false) || (at > 0 && at <= now))
                return strdup("now");
        if (at == 0)
                return NULL;
        return strf("in %s", format_duration(text, at - now));
}
