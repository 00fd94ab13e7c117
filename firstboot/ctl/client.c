/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/ctl.h"
#include "shared/log.h"
#include "contract/paths.h"

#include <time.h>

#define STATUS_MAX (4 * 1024 * 1024)
#define CALL_USEC (10 * USEC_PER_SEC)

uint64_t ctl_now_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * USEC_PER_SEC + (uint64_t) t.tv_nsec / NSEC_PER_USEC;
}

int ctl_bus(Ctl *c) {
        if (c->bus && sd_bus_is_open(c->bus) > 0)
                return 0;
        c->bus = sd_bus_close_unref(c->bus);
        int r = sd_bus_open_system(&c->bus);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(c->bus, CALL_USEC);
        return r;
}

static int call_json(Ctl *c, const char *method, json_object **ret, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *text;
        JsonError e = {};
        int r;

        r = ctl_bus(c);
        if (r >= 0)
                r = sd_bus_call_method(c->bus, DBUS_NAME, DBUS_PATH, DBUS_MANAGER, method, error,
                                &reply, NULL);
        if (r >= 0)
                r = sd_bus_message_read(reply, "s", &text);
        return r < 0 ? r : json_parse(text, strlen(text), &e, ret);
}

int ctl_call_json(Ctl *c, const char *method, json_object **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = call_json(c, method, ret, &error);

        if (r < 0)
                log_error("firstbootd does not answer: %s; see systemctl status firstbootd",
                                error.message ? error.message : strerror(-r));
        return r;
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

int ctl_exit_code(json_object *status) {
        const char *node = json_get_string(status, "node");

        if (!node)
                return EXIT_UNKNOWN;
        return streq(node, "ready")      ? EXIT_NODE_READY
               : streq(node, "degraded") ? EXIT_NODE_DEGRADED
               : streq(node, "failed")   ? EXIT_NODE_FAILED
                                         : EXIT_NODE_GOING;
}

uint64_t step_duration(json_object *step) {
        json_object *attempts = json_get(step, "attempts");
        uint64_t sum = 0;

        for (size_t i = 0; json_object_is_type(attempts, json_type_array) &&
                           i < json_object_array_length(attempts);
                        i++) {
                json_object *a = json_object_array_get_idx(attempts, i);
                uint64_t from = (uint64_t) json_get_int(a, "started_usec", 0),
                         to = (uint64_t) json_get_int(a, "finished_usec", 0);

                if (to == 0)
                        to = ctl_now_usec();
                sum += to > from ? to - from : 0;
        }
        return sum;
}
