/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What counters say is not how many errors there were since the driver came, but whether there are
 * more now: a link that trained badly a month ago is no reason today. */

#include "daemon/watch-counters.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/parse-number.h"
#include "shared/strv.h"

#define FLAPS_MAX 3 /* as often within the window, a link is no good */

/* Growth that is let pass, a minute: InfiniBand's specification allows 10 symbol errors an hour and
 * real links have bursts; the last four mean data that was damaged or dropped. */
static const struct {
        const char *file;
        uint64_t per_minute;
} ports[] = {
        { "symbol_error", 10 },
        { "link_error_recovery", 1 },
        { "port_rcv_errors", 10 },
        { "local_link_integrity_errors", 0 },
        { "excessive_buffer_overrun_errors", 0 },
        { "port_xmit_constraint_errors", 0 },
        { "port_rcv_constraint_errors", 0 },
};

void watch_counters_done(WatchCounters *w) {
        for (size_t i = 0; i < w->n; i++) {
                free(w->items[i].name);
                free(w->items[i].downs);
        }
        free(w->items);
        *w = (WatchCounters) {};
}

/* *ret_new: it was not seen before. */
static WatchCounter *get(WatchCounters *w, const char *name, bool *ret_new) {
        WatchCounter *grown;

        *ret_new = false;
        for (size_t i = 0; i < w->n; i++)
                if (streq(w->items[i].name, name))
                        return &w->items[i];
        grown = reallocarray(w->items, w->n + 1, sizeof(*grown));
        if (!grown)
                return NULL;
        w->items = grown;
        w->items[w->n] = (WatchCounter) { .name = strdup(name) };
        *ret_new = true;
        return w->items[w->n].name ? &w->items[w->n++] : NULL;
}

static bool read_number(const char *path, uint64_t *ret) {
        _cleanup_free_ char *text = NULL;

        return read_line_file(path, &text) >= 0 && parse_number(text, 10, ret) >= 0;
}

/* How much the counter has grown since the last look; one that was set back has not. */
static uint64_t growth(
                WatchCounter *c, bool fresh, uint64_t value, uint64_t now, uint64_t *ret_usec) {
        uint64_t grown = fresh || value < c->value ? 0 : value - c->value;

        *ret_usec = fresh ? 0 : now - c->seen_usec;
        c->value = value;
        c->seen_usec = now;
        return grown;
}

static void look_at_errors(WatchCounters *w, Conditions *l, const char *name, const char *path,
                uint64_t per_minute, uint64_t now) {
        _cleanup_free_ char *key = strf("counter:%s", name);
        uint64_t value, grown, usec;
        WatchCounter *c;
        bool fresh;

        if (!key || !read_number(path, &value))
                return;
        c = get(w, name, &fresh);
        if (!c)
                return;
        grown = growth(c, fresh, value, now, &usec);
        if (grown * 60 * USEC_PER_SEC > per_minute * MAX(usec, 60 * USEC_PER_SEC))
                (void) conditions_set(l, key, "rdma.errors-grow", now,
                                "%s has grown by %llu in %.0f s", name, (unsigned long long) grown,
                                (double) usec / USEC_PER_SEC);
        else
                conditions_clear(l, key);
}

static void look_at_link(
                WatchCounters *w, Conditions *l, const char *name, const char *path, uint64_t now) {
        _cleanup_free_ char *key = strf("link:%s", name);
        uint64_t value, grown, usec;
        WatchCounter *c;
        bool fresh;

        if (!key || !read_number(path, &value))
                return;
        c = get(w, name, &fresh);
        if (!c)
                return;
        grown = growth(c, fresh, value, now, &usec);
        if (grown > 0 && !c->downs)
                c->downs = calloc(1, sizeof(*c->downs));
        if (!c->downs)
                return;
        for (uint64_t i = 0; i < MIN(grown, (uint64_t) WATCH_EVENTS); i++)
                watch_events_add(c->downs, now, "");
        if (watch_events_count(c->downs, now) >= FLAPS_MAX)
                (void) conditions_set(l, key, "watch.link-flaps", now,
                                "the link of %s went down %u times in 10 min", name,
                                watch_events_count(c->downs, now));
        else
                conditions_clear(l, key);
}

static void look_at_port(WatchCounters *w, Conditions *l, const char *device, const char *port,
                uint64_t now) {
        for (size_t i = 0; i < ELEMENTSOF(ports); i++) {
                _cleanup_free_ char *path = fb_pathf(
                                                    "/sys/class/infiniband/%s/ports/%s/counters/%s",
                                                    device, port, ports[i].file),
                                    *name = strf("%s port %s %s", device, port, ports[i].file);

                if (path && name)
                        look_at_errors(w, l, name, path, ports[i].per_minute, now);
        }

        _cleanup_free_ char
                        *path = fb_pathf("/sys/class/infiniband/%s/ports/%s/counters/link_downed",
                                        device, port),
                        *name = strf("%s port %s", device, port);
        if (path && name)
                look_at_link(w, l, name, path, now);
}

static void look_at_device(WatchCounters *w, Conditions *l, const char *device, uint64_t now) {
        _cleanup_free_ char *folder = strf("/sys/class/infiniband/%s/ports", device);
        _cleanup_strv_free_ char **names = NULL;

        if (!folder || fb_list(folder, &names) < 0)
                return;
        STRV_FOREACH (port, names)
                look_at_port(w, l, device, *port, now);
}

/* Interfaces with hardware behind them; those of containers come and go. */
static void look_at_interface(WatchCounters *w, Conditions *l, const char *name, uint64_t now) {
        _cleanup_free_ char *device = fb_pathf("/sys/class/net/%s/device", name),
                            *path = fb_pathf("/sys/class/net/%s/carrier_down_count", name);

        if (device && path && access(device, F_OK) >= 0)
                look_at_link(w, l, name, path, now);
}

void watch_counters_look(WatchCounters *w, Conditions *l, uint64_t now) {
        _cleanup_strv_free_ char **devices = NULL, **interfaces = NULL;

        if (fb_list("/sys/class/infiniband", &devices) >= 0)
                STRV_FOREACH (device, devices)
                        look_at_device(w, l, *device, now);
        if (fb_list("/sys/class/net", &interfaces) >= 0)
                STRV_FOREACH (name, interfaces)
                        look_at_interface(w, l, *name, now);
}
