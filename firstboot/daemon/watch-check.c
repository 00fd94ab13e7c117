/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One check at a time, with a limit of our own. Its report is a file in /run. */

#include "daemon/watch-check.h"
#include "daemon/manager.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/older-systemd.h"
#include "shared/strv.h"

#define REPORT_MAX (4 * 1024 * 1024)
/* Beyond the limits of the probes themselves. */
#define QUICK_USEC (2 * 60 * USEC_PER_SEC)
#define FULL_USEC (60 * 60 * USEC_PER_SEC)

struct WatchCheck {
        sd_event *event;
        watch_check_done_t done;
        void *userdata;

        const char *mode; /* NULL: none runs */
        char *unit;
        sd_bus *bus;
        sd_bus_slot *start;
        sd_event_source *deadline;
};

WatchCheck *watch_check_free(WatchCheck *c) {
        if (!c)
                return NULL;
        watch_check_forget(c);
        sd_event_unref(c->event);
        free(c);
        return NULL;
}

int watch_check_new(sd_event *event, watch_check_done_t done, void *userdata, WatchCheck **ret) {
        WatchCheck *c = calloc(1, sizeof(*c));

        if (!c)
                return -ENOMEM;
        *c = (WatchCheck) { .event = sd_event_ref(event), .done = done, .userdata = userdata };
        *ret = c;
        return 0;
}

bool watch_check_is_running(const WatchCheck *c) {
        return c->mode;
}

void watch_check_forget(WatchCheck *c) {
        c->start = sd_bus_slot_unref(c->start);
        c->deadline = sd_event_source_disable_unref(c->deadline);
        c->bus = NULL;
        c->mode = NULL;
        free(TAKE_PTR(c->unit));
}

static char *report_path(const char *mode) {
        return fb_pathf("%s/%s.json", PATH_RUN_CHECK, mode);
}

/* NULL where it left none, or none that can be read. */
static json_object *take_report(const char *mode) {
        _cleanup_free_ char *path = report_path(mode);
        json_object *o = NULL;
        JsonError e = {};

        if (!path || json_load(path, REPORT_MAX, &e, &o) < 0)
                return NULL;
        (void) unlink(path);
        return o;
}

static void finish(WatchCheck *c, bool ended) {
        const char *mode = c->mode;
        _cleanup_json_ json_object *report = ended ? take_report(mode) : NULL;

        watch_check_forget(c);
        c->done(mode, report, c->userdata);
}

static int on_started(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        WatchCheck *c = userdata;

        (void) ret_error;
        c->start = sd_bus_slot_unref(c->start);
        if (sd_bus_message_get_error(m))
                finish(c, false);
        return 0;
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata) {
        WatchCheck *c = userdata;

        (void) s, (void) usec;
        if (c->bus)
                (void) manager_call(c->bus, NULL, "StopUnit", c->unit, NULL, NULL);
        finish(c, false);
        return 0;
}

int watch_check_start(WatchCheck *c, sd_bus *bus, const char *mode) {
        _cleanup_free_ char *path = report_path(mode);
        int r;

        if (c->mode)
                return -EBUSY;
        if (!bus)
                return -ENOTCONN;
        if (!path)
                return -ENOMEM;
        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        (void) unlink(path); /* one from before is no answer */

        c->unit = strf("firstboot-check@%s.service", mode);
        if (!c->unit)
                return -ENOMEM;
        r = sd_event_add_time_relative(c->event, &c->deadline, CLOCK_MONOTONIC,
                        streq(mode, "full") ? FULL_USEC : QUICK_USEC, USEC_PER_SEC, on_deadline, c);
        if (r < 0) {
                watch_check_forget(c);
                return r;
        }
        r = manager_call(bus, &c->start, "StartUnit", c->unit, on_started, c);
        if (r < 0) {
                watch_check_forget(c);
                return r;
        }
        c->bus = bus;
        c->mode = streq(mode, "full") ? "full" : "quick";
        return 0;
}

void watch_check_removed(WatchCheck *c, const char *unit) {
        if (c->mode && streq(c->unit, unit))
                finish(c, true);
}
