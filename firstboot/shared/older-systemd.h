/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What libsystemd has learned since 239, that of EL 8. LIBSYSTEMD is its version as pkg-config
 * tells it, where the Makefile says so. Some of these functions Red Hat has in that one's headers,
 * and not all of those in the library: ours have names of their own. */

#include <signal.h>
#include <stdarg.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#ifndef LIBSYSTEMD
#define LIBSYSTEMD 9999
#endif

#if LIBSYSTEMD < 240
/* Calls have sd-bus' own limit then, 25 s. */
#define sd_bus_set_method_call_timeout older_bus_set_method_call_timeout
static inline int older_bus_set_method_call_timeout(sd_bus *bus, uint64_t usec) {
        (void) bus;
        (void) usec;
        return 0;
}
#endif

#if LIBSYSTEMD < 241
#define sd_bus_close_unref older_bus_close_unref
static inline sd_bus *older_bus_close_unref(sd_bus *bus) {
        if (bus)
                sd_bus_close(bus);
        return sd_bus_unref(bus);
}
#endif

#if LIBSYSTEMD < 243
#define sd_event_source_disable_unref older_event_source_disable_unref
static inline sd_event_source *older_event_source_disable_unref(sd_event_source *s) {
        if (s)
                (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return sd_event_source_unref(s);
}
#endif

/* The loop alone keeps the source from now on. Of a libsystemd that cannot, it is never freed. */
static inline sd_event_source *event_source_leave(sd_event_source *s) {
#if LIBSYSTEMD >= 240
        (void) sd_event_source_set_floating(s, true);
        return sd_event_source_unref(s);
#else
        (void) s;
        return NULL;
#endif
}

#if LIBSYSTEMD < 245
#define sd_event_source_send_child_signal older_event_source_send_child_signal
static inline int older_event_source_send_child_signal(
                sd_event_source *s, int sig, const siginfo_t *info, unsigned flags) {
        pid_t pid;
        int r = sd_event_source_get_child_pid(s, &pid);

        (void) info;
        (void) flags;
        return r < 0 ? r : kill(pid, sig);
}
#endif

#if LIBSYSTEMD < 247
#define sd_event_add_time_relative older_event_add_time_relative
static inline int older_event_add_time_relative(sd_event *e, sd_event_source **ret, clockid_t clock,
                uint64_t usec, uint64_t accuracy, sd_event_time_handler_t callback,
                void *userdata) {
        uint64_t now;
        int r = sd_event_now(e, clock, &now);

        if (r < 0)
                return r;
        if (usec >= UINT64_MAX - now)
                return -EOVERFLOW;
        return sd_event_add_time(e, ret, clock, now + usec, accuracy, callback, userdata);
}

#define sd_event_source_set_time_relative older_event_source_set_time_relative
static inline int older_event_source_set_time_relative(sd_event_source *s, uint64_t usec) {
        clockid_t clock;
        uint64_t now;
        int r = sd_event_source_get_time_clock(s, &clock);

        if (r < 0)
                return r;
        r = sd_event_now(sd_event_source_get_event(s), clock, &now);
        if (r < 0)
                return r;
        return usec >= UINT64_MAX - now ? -EOVERFLOW : sd_event_source_set_time(s, now + usec);
}

static inline int older_bus_error_has_names_sentinel(const sd_bus_error *e, ...) {
        const char *name;
        va_list names;
        int found = 0;

        va_start(names, e);
        while (!found && (name = va_arg(names, const char *)))
                found = sd_bus_error_has_name(e, name);
        va_end(names);
        return found;
}
#undef sd_bus_error_has_names
#define sd_bus_error_has_names(e, ...) older_bus_error_has_names_sentinel(e, __VA_ARGS__, NULL)
#endif

/* Parameters have no names then. */
#ifndef SD_BUS_PARAM
#define SD_BUS_PARAM(name)
#define SD_BUS_METHOD_WITH_NAMES(member, signature, in, result, out, handler, flags) \
        SD_BUS_METHOD(member, signature, result, handler, flags)
#define SD_BUS_SIGNAL_WITH_NAMES(member, signature, names, flags) \
        SD_BUS_SIGNAL(member, signature, flags)
#endif
