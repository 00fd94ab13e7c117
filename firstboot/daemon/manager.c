/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calls to systemd's manager, and what its answers say. */

#include "daemon/manager.h"
#include "contract/paths.h"

#include <signal.h>

int manager_call(sd_bus *bus, sd_bus_slot **ret_slot, const char *method, const char *unit,
                sd_bus_message_handler_t handler, void *userdata) {
        return sd_bus_call_method_async(bus, ret_slot, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                        method, handler, userdata, "ss", unit, "replace");
}

int manager_kill(sd_bus *bus, const char *unit) {
        return sd_bus_call_method_async(bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                        "KillUnit", NULL, NULL, "ssi", unit, "all", SIGKILL);
}

int manager_set_cpu_weight(sd_bus *bus, const char *unit, uint64_t weight) {
        return sd_bus_call_method_async(bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                        "SetUnitProperties", NULL, NULL, "sba(sv)", unit, true, 1, "CPUWeight", "t",
                        weight);
}

int manager_ask(sd_bus *bus, sd_bus_slot **ret_slot, const char *object,
                sd_bus_message_handler_t handler, void *userdata) {
        return sd_bus_call_method_async(bus, ret_slot, SYSTEMD, object,
                        "org.freedesktop.DBus.Properties", "GetAll", handler, userdata, "s", "");
}

int manager_ask_state(sd_bus *bus, sd_bus_slot **ret_slot, const char *object,
                sd_bus_message_handler_t handler, void *userdata) {
        return sd_bus_call_method_async(bus, ret_slot, SYSTEMD, object,
                        "org.freedesktop.DBus.Properties", "Get", handler, userdata, "ss",
                        "org.freedesktop.systemd1.Unit", "ActiveState");
}

static int read_text(sd_bus_message *m, char *ret, size_t size) {
        const char *text;
        int r;

        r = sd_bus_message_read(m, "v", "s", &text);
        if (r < 0)
                return r;
        snprintf(ret, size, "%s", text);
        return 0;
}

/* One entry of the dictionary, from key to value. */
static int read_property(sd_bus_message *m, UnitFacts *f) {
        const char *key;
        int r;

        r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;

        if (streq(key, "ActiveState"))
                return read_text(m, f->active_state, sizeof(f->active_state));
        if (streq(key, "Result"))
                return read_text(m, f->result, sizeof(f->result));
        if (streq(key, "ExecMainCode"))
                return sd_bus_message_read(m, "v", "i", &f->exit_code);
        if (streq(key, "ExecMainStatus"))
                return sd_bus_message_read(m, "v", "i", &f->exit_status);
        if (streq(key, "ExecMainExitTimestampMonotonic"))
                return sd_bus_message_read(m, "v", "t", &f->exit_usec);
        return sd_bus_message_skip(m, "v");
}

int manager_read_facts(sd_bus_message *m, UnitFacts *ret) {
        UnitFacts f = { .result = "success", .active_state = "inactive" };
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = read_property(m, &f);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;

        *ret = f;
        return 0;
}

bool bus_is_in_trouble(const sd_bus_error *error) {
        static const char *const names[] = {
                "org.freedesktop.DBus.Error.NoReply",
                "org.freedesktop.DBus.Error.Disconnected",
                "org.freedesktop.DBus.Error.Timeout",
                "org.freedesktop.DBus.Error.TimedOut",
                "org.freedesktop.DBus.Error.ServiceUnknown",
                "org.freedesktop.DBus.Error.NameHasNoOwner",
                "org.freedesktop.DBus.Error.LimitsExceeded",
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (sd_bus_error_has_name(error, names[i]))
                        return true;
        return false;
}
