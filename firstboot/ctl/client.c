/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What all verbs need: firstbootd on the bus, the status document, and looks into it. */

#include "ctl/ctl.h"
#include "contract/paths.h"
#include "contract/status.h"
#include "shared/json-strv.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/time-util.h"

#define STATUS_MAX (4 * 1024 * 1024)
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

int ctl_call_json(Ctl *c, const char *method, json_object **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = call_json(c, method, ret, &error);

        if (r < 0)
                log_error("firstbootd does not answer: %s; see systemctl status firstbootd",
                                error.message ? error.message : strerror(-r));
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
        int r;

        r = call_json(c, "GetStatus", ret, &error);
        if (r >= 0)
                return 0;
        path = fb_path(PATH_RUN_STATUS);
        r = path ? json_load(path, STATUS_MAX, &e, ret) : -ENOMEM;
        return r < 0 ? -ENOENT : 0;
}

int ctl_log_no_status(const char *more) {
        log_error("firstbootd does not run and left no status; systemctl status firstbootd says why%s",
                        more);
        return EXIT_UNKNOWN;
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
