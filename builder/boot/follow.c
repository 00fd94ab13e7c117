/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a running machine says, by its console, its journal and its monitor: read, and handed to
 * watch.c, to the display and to whoever gave a descriptor for reports. */

#include "boot/internal.h"
#include "shared/time-util.h"

#include <poll.h>

#define TICK_MS 100

/* Nobody waits for a reader that is behind. */
void boot_tell(const Boot *b, const char *format, ...) {
        char line[512];
        va_list ap;
        int n;

        if (b->o->report_fd <= 0)
                return;
        va_start(ap, format);
        n = vsnprintf(line, sizeof(line) - 1, format, ap);
        va_end(ap);
        if (n < 0)
                return;

        size_t size = MIN((size_t) n, sizeof(line) - 2);
        line[size] = '\n';
        (void) !write(b->o->report_fd, line, size + 1);
}

static void on_phase(BootWatch *w, BootPhase phase, void *userdata) {
        Boot *b = userdata;
        json_object *o = json_object_new_object();

        for (BootPhase p = 0; p < phase; p++)
                if (w->reached_at[p] != 0)
                        progress_set(b->ctx->progress, boot_phase_names[p], PROGRESS_DONE);
        boot_tell(b, "phase %s", boot_phase_names[phase]);
        if (phase < BOOT_UP)
                progress_set(b->ctx->progress, boot_phase_names[phase], PROGRESS_RUNNING);
        if (o) {
                (void) json_set_fields(o, JSON_STRING("phase", boot_phase_names[phase]),
                                JSON_INT("usec", w->now - b->started));
                progress_event(b->ctx->progress, "boot.phase", o);
        }
}

static void on_unit(BootWatch *w, const char *unit, UnitEvent event, const char *message,
                void *userdata) {
        static const char *const names[] = {
                [UNIT_STARTING] = "starting",
                [UNIT_STARTED] = "started",
                [UNIT_FAILED] = "failed",
                [UNIT_RESTARTING] = "restarting",
                [UNIT_STOPPED] = "stopped",
        };
        Boot *b = userdata;
        json_object *o = json_object_new_object();

        snprintf(b->last, sizeof(b->last), "%s", strempty(message));
        boot_tell(b, "last %s", b->last);
        if (event == UNIT_FAILED)
                log_warning("In the guest: %s", strempty(message));
        if (!o)
                return;

        (void) json_set_fields(o, JSON_STRING("unit", unit), JSON_STRING("state", names[event]),
                        JSON_INT("usec", w->now - b->started));
        progress_event(b->ctx->progress, "boot.unit", o);
}

static void on_event(const char *event, json_object *data, void *userdata) {
        Boot *b = userdata;

        if (streq(event, "GUEST_PANICKED")) {
                b->panicked = true;
                boot_watch_fail(&b->watch, now_usec(), "kernel panic");
        } else if (streq(event, "SHUTDOWN"))
                b->guest_ended = json_get_bool(data, "guest", false);
        else if (streq(event, "RESET") && json_get_bool(data, "guest", false)) {
                b->resets++;
                log_notice("The guest restarts itself");
        }
}

static void feed_from(int fd,
                void (*feed)(BootWatch *w, const char *data, size_t size, uint64_t now), Boot *b) {
        char buffer[65536];
        ssize_t n;

        while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0)
                feed(&b->watch, buffer, (size_t) n, now_usec());
}

void boot_look(Boot *b, VmProcess *p) {
        feed_from(b->console_fd, boot_watch_console, b);
        feed_from(b->journal_fd, boot_watch_journal, b);
        vm_monitor(p, on_event, b);

        size_t n = console_kept(&b->watch.console);
        progress_detail(b->ctx->progress, boot_phase_names[b->watch.phase],
                        b->last[0] ? b->last
                        : n > 0    ? console_kept_line(&b->watch.console, n - 1)
                                   : "");
}

void boot_rest(void) {
        struct pollfd fd = { .fd = interrupt_fd(), .events = POLLIN };

        if (interrupt_signal())
                fd.fd = -1;
        (void) poll(&fd, 1, TICK_MS);
}

void boot_follow(Boot *b) {
        b->watch.on_phase = on_phase;
        b->watch.on_unit = on_unit;
        b->watch.userdata = b;
}
