/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From no bus to one where our name is ours and systemd's signals come; over and over. */

#include "daemon/connection.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/older-systemd.h"

#include <systemd/sd-daemon.h>

struct Connection {
        sd_event *event;
        const ConnectionOps *ops;
        void *userdata;

        sd_bus *bus;    /* NULL while the bus is away */
        bool ready;     /* our name is ours and systemd's signals are on their way */
        bool announced; /* READY=1 was sent */

        sd_event_source *reconnect;
        unsigned tries;
};

static int reconnect_later(Connection *c);

static void close_bus(Connection *c) {
        c->ready = false;
        if (!c->bus)
                return;

        c->ops->closed(c->userdata);
        sd_bus_detach_event(c->bus);
        c->bus = sd_bus_close_unref(c->bus);
}

Connection *connection_free(Connection *c) {
        if (!c)
                return NULL;
        close_bus(c);
        sd_event_source_disable_unref(c->reconnect);
        sd_event_unref(c->event);
        free(c);
        return NULL;
}

int connection_new(sd_event *event, const ConnectionOps *ops, void *userdata, Connection **ret) {
        Connection *c = calloc(1, sizeof(*c));

        if (!c)
                return -ENOMEM;

        c->event = sd_event_ref(event);
        c->ops = ops;
        c->userdata = userdata;
        *ret = c;
        return 0;
}

bool connection_is_ready(const Connection *c) {
        return c->ready;
}

bool connection_is_announced(const Connection *c) {
        return c->announced;
}

/* Asks systemd for its signals. */
static int subscribe(Connection *c, sd_bus_message_handler_t handler) {
        return sd_bus_call_method_async(c->bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                        "Subscribe", handler, c, NULL);
}

static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Connection *c = userdata;
        const char *job, *unit, *result;
        uint32_t id;

        (void) ret_error;
        if (sd_bus_message_read(m, "uoss", &id, &job, &unit, &result) >= 0)
                c->ops->job_removed(unit, job, result, c->userdata);
        return 0;
}

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        (void) m, (void) ret_error;
        log_warning("The bus is gone; steps go on, and their time limits stand. Connecting again.");
        return reconnect_later(userdata);
}

/* systemd came (back) to the bus: jobs removed meanwhile were not heard of. */
static int on_systemd_owner(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Connection *c = userdata;
        const char *name, *old, *new;

        (void) ret_error;
        if (sd_bus_message_read(m, "sss", &name, &old, &new) < 0 || isempty(new) || !c->ready)
                return 0;

        (void) subscribe(c, NULL);
        c->ops->ready(c->userdata);
        return 0;
}

static int on_subscribed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        const sd_bus_error *error = sd_bus_message_get_error(m);
        Connection *c = userdata;

        (void) ret_error;
        if (error && !sd_bus_error_has_name(error, "org.freedesktop.systemd1.AlreadySubscribed")) {
                log_warning("systemd does not answer on the bus (%s); trying again.",
                                error->message);
                return reconnect_later(c);
        }

        c->ready = true;
        c->tries = 0;
        c->ops->ready(c->userdata);
        return 0;
}

/* RequestName's answers (D-Bus specification). */
enum {
        NAME_IS_OURS = 1,
        NAME_IN_QUEUE = 2,
        NAME_EXISTS = 3,
        NAME_WAS_OURS = 4,
};

static int on_named(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        const sd_bus_error *error = sd_bus_message_get_error(m);
        Connection *c = userdata;
        uint32_t answer = 0;

        (void) ret_error;
        if (!error && sd_bus_message_read(m, "u", &answer) < 0)
                answer = 0;
        if (answer == NAME_IN_QUEUE || answer == NAME_EXISTS) {
                log_error("Another firstbootd owns %s; it is the one to talk to.", DBUS_NAME);
                return sd_event_exit(c->event, -EEXIST);
        }
        if (answer != NAME_IS_OURS && answer != NAME_WAS_OURS) {
                log_error("The bus does not give us the name %s (%s); is its policy file installed?",
                                DBUS_NAME, error ? error->message : "no reason given");
                return reconnect_later(c);
        }

        if (!c->announced) {
                c->announced = true;
                (void) sd_notify(0, "READY=1");
        }
        return subscribe(c, on_subscribed) < 0 ? reconnect_later(c) : 0;
}

static int add_matches(Connection *c, sd_bus *bus) {
        int r;

        r = sd_bus_match_signal_async(bus, NULL, "org.freedesktop.DBus.Local",
                        "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local", "Disconnected",
                        on_disconnected, NULL, c);
        if (r < 0)
                return r;
        r = sd_bus_match_signal_async(bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                        "JobRemoved", on_job_removed, NULL, c);
        if (r < 0)
                return r;
        return sd_bus_add_match_async(bus, NULL,
                        "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.systemd1'",
                        on_systemd_owner, NULL, c);
}

/* Our objects are there before anybody can ask for them by our name. */
static int appear(Connection *c) {
        int r;

        r = c->ops->opened(c->bus, c->userdata);
        if (r < 0)
                return r;
        return sd_bus_request_name_async(c->bus, NULL, DBUS_NAME, 0, on_named, c);
}

static int try_open(Connection *c) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system_with_description(&bus, "firstbootd");
        if (r < 0)
                return r;
        r = sd_bus_attach_event(bus, c->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        r = add_matches(c, bus);
        if (r < 0)
                return r;

        c->bus = TAKE_PTR(bus);
        r = appear(c);
        if (r < 0)
                close_bus(c);
        return r;
}

static int on_reconnect(sd_event_source *s, uint64_t usec, void *userdata) {
        Connection *c = userdata;

        (void) s, (void) usec;
        c->reconnect = sd_event_source_disable_unref(c->reconnect);
        close_bus(c);
        return try_open(c) < 0 ? reconnect_later(c) : 0;
}

static int reconnect_later(Connection *c) {
        uint64_t delay = MIN(100 * USEC_PER_MSEC << MIN(c->tries, 6u), 5 * USEC_PER_SEC);

        c->ready = false;
        if (c->reconnect)
                return 0;

        c->tries++;
        return sd_event_add_time_relative(
                        c->event, &c->reconnect, CLOCK_MONOTONIC, delay, 0, on_reconnect, c);
}

int connection_open(Connection *c) {
        int r = try_open(c);

        if (r < 0) {
                log_warning_errno(r, "The system bus is not there yet; waiting for it");
                return reconnect_later(c);
        }
        return 0;
}
