/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The system bus: connected, named, subscribed to systemd; and all of that again when the bus was
 * restarted, without losing sight of steps that run meanwhile. */

#include "daemon/engine.h"
#include "daemon/bus-api.h"
#include "shared/log.h"
#include "contract/paths.h"

#include <systemd/sd-daemon.h>

static int reconnect_later(Engine *e);

static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Engine *e = userdata;
        const char *path, *unit, *result;
        uint32_t id;

        (void) ret_error;
        if (sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) < 0)
                return 0;
        for (size_t i = 0; i < e->n_jobs; i++)
                if (streq(e->jobs[i].unit, unit)) {
                        job_removed(&e->jobs[i], path, result);
                        break;
                }
        return 0;
}

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Engine *e = userdata;

        (void) m;
        (void) ret_error;
        log_warning("The bus is gone; steps go on, and their time limits stand. Connecting again.");
        return reconnect_later(e);
}

/* systemd came (back) to the bus: jobs removed meanwhile were not heard of. */
static int on_systemd_owner(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Engine *e = userdata;
        const char *name, *old, *new;

        (void) ret_error;
        if (sd_bus_message_read(m, "sss", &name, &old, &new) < 0 || isempty(new) || !e->bus_ready)
                return 0;
        (void) sd_bus_call_method_async(e->bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                        "Subscribe", NULL, NULL, NULL);
        engine_resync(e);
        return 0;
}

static int on_subscribed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        const sd_bus_error *error = sd_bus_message_get_error(m);
        Engine *e = userdata;

        (void) ret_error;
        if (error && !sd_bus_error_has_name(error, "org.freedesktop.systemd1.AlreadySubscribed")) {
                log_warning("systemd does not answer on the bus (%s); trying again.",
                                error->message);
                return reconnect_later(e);
        }
        e->bus_ready = true;
        e->reconnect_tries = 0;
        engine_resync(e);
        return 0;
}

static int on_named(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        const sd_bus_error *error = sd_bus_message_get_error(m);
        Engine *e = userdata;
        uint32_t answer = 0;
        int r;

        (void) ret_error;
        if (error || sd_bus_message_read(m, "u", &answer) < 0 || (answer != 1 && answer != 4)) {
                if (answer == 2 || answer == 3) {
                        log_error("Another firstbootd owns %s; it is the one to talk to.",
                                        DBUS_NAME);
                        return sd_event_exit(e->event, -EEXIST);
                }
                log_error("The bus does not give us the name %s (%s); is its policy file installed?",
                                DBUS_NAME, error ? error->message : "no reason given");
                return reconnect_later(e);
        }
        if (!e->announced) {
                e->announced = true;
                (void) sd_notify(0, "READY=1");
        }
        r = sd_bus_call_method_async(e->bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                        "Subscribe", on_subscribed, e, NULL);
        return r < 0 ? reconnect_later(e) : 0;
}

static int try_open(Engine *e) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system_with_description(&bus, "firstbootd");
        if (r < 0)
                return r;
        r = sd_bus_attach_event(bus, e->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = sd_bus_match_signal_async(bus, NULL, "org.freedesktop.DBus.Local",
                                "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local",
                                "Disconnected", on_disconnected, NULL, e);
        if (r >= 0)
                r = sd_bus_match_signal_async(bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                                "JobRemoved", on_job_removed, NULL, e);
        if (r >= 0)
                r = sd_bus_add_match_async(bus, NULL,
                                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.systemd1'",
                                on_systemd_owner, NULL, e);
        if (r >= 0)
                r = bus_api_install(e, bus);
        if (r < 0)
                return r;
        r = sd_bus_request_name_async(bus, NULL, DBUS_NAME, 0, on_named, e);
        if (r < 0)
                return r;
        e->bus = TAKE_PTR(bus);
        return 0;
}

static int on_reconnect(sd_event_source *s, uint64_t usec, void *userdata) {
        Engine *e = userdata;

        (void) s;
        (void) usec;
        e->reconnect = sd_event_source_disable_unref(e->reconnect);
        connection_close(e);
        return try_open(e) < 0 ? reconnect_later(e) : 0;
}

static int reconnect_later(Engine *e) {
        uint64_t delay = MIN(100 * USEC_PER_MSEC << MIN(e->reconnect_tries, 6u), 5 * USEC_PER_SEC);

        e->bus_ready = false;
        if (e->reconnect)
                return 0;
        e->reconnect_tries++;
        return sd_event_add_time_relative(
                        e->event, &e->reconnect, CLOCK_MONOTONIC, delay, 0, on_reconnect, e);
}

void connection_close(Engine *e) {
        e->bus_ready = false;
        for (size_t i = 0; i < e->n_jobs; i++) {
                Job *j = &e->jobs[i];

                j->start_slot = sd_bus_slot_unref(j->start_slot);
                j->stop_slot = sd_bus_slot_unref(j->stop_slot);
                j->query_slot = sd_bus_slot_unref(j->query_slot);
        }
        if (e->bus) {
                sd_bus_detach_event(e->bus);
                e->bus = sd_bus_close_unref(e->bus);
        }
}

int connection_open(Engine *e) {
        int r = try_open(e);

        if (r < 0) {
                log_warning_errno(r, "The system bus is not there yet; waiting for it");
                return reconnect_later(e);
        }
        return 0;
}
