/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A change of a unit is only a reason to ask: the signal may tell of a state that is past
 * already. */

#include "daemon/watch-units.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/strv.h"

/* section: of the configuration, NULL: where the NVIDIA driver is loaded. */
static const struct {
        const char *unit, *section;
} table[] = {
        { "sssd.service", "identity" },
        { "munge.service", "slurm" },
        { "slurmd.service", "slurm" },
        { "kubelet.service", "kubernetes" },
        { "containerd.service", "kubernetes" },
        { "crio.service", "kubernetes" },
        { "nvidia-persistenced.service", NULL },
        { "nvidia-fabricmanager.service", NULL },
        { "nvidia-imex.service", NULL },
};

typedef struct WatchUnit {
        WatchUnits *all;
        const char *name;
        char *path;
        char state[32];  /* "": not asked yet */
        bool was_active; /* so that what never ran is not missed */
        sd_bus_slot *match, *query;
} WatchUnit;

struct WatchUnits {
        sd_bus *bus;
        size_t n;
        WatchUnit items[ELEMENTSOF(table)];
};

static void drop_slots(WatchUnits *w) {
        for (size_t i = 0; i < w->n; i++) {
                w->items[i].match = sd_bus_slot_unref(w->items[i].match);
                w->items[i].query = sd_bus_slot_unref(w->items[i].query);
        }
}

WatchUnits *watch_units_free(WatchUnits *w) {
        if (!w)
                return NULL;
        drop_slots(w);
        for (size_t i = 0; i < w->n; i++)
                free(w->items[i].path);
        free(w);
        return NULL;
}

int watch_units_new(json_object *config, WatchUnits **ret) {
        _cleanup_free_ char *module = fb_path("/sys/module/nvidia");
        bool nvidia = module && access(module, F_OK) >= 0;
        WatchUnits *w = calloc(1, sizeof(*w));
        int r;

        if (!w)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                WatchUnit *u = &w->items[w->n];

                if (table[i].section ? !json_get(config, table[i].section) : !nvidia)
                        continue;
                *u = (WatchUnit) { .all = w, .name = table[i].unit };
                r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", u->name, &u->path);
                if (r < 0) {
                        watch_units_free(w);
                        return r;
                }
                w->n++;
        }
        *ret = w;
        return 0;
}

static bool is_active(const char *state) {
        return streq(state, "active") || streq(state, "reloading");
}

static int on_state(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        WatchUnit *u = userdata;
        const char *state;

        (void) ret_error;
        u->query = sd_bus_slot_unref(u->query);
        if (sd_bus_message_get_error(m) || sd_bus_message_read(m, "v", "s", &state) < 0)
                return 0;
        snprintf(u->state, sizeof(u->state), "%s", state);
        u->was_active = u->was_active || is_active(u->state);
        return 0;
}

static void ask(WatchUnit *u) {
        u->query = sd_bus_slot_unref(u->query);
        if (u->all->bus && manager_ask_state(u->all->bus, &u->query, u->path, on_state, u) < 0)
                log_warning("Cannot ask systemd about %s: that it ends would go unseen until it changes again.",
                                u->name);
}

static int on_changed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        (void) m, (void) ret_error;
        ask(userdata);
        return 0;
}

void watch_units_set_bus(WatchUnits *w, sd_bus *bus) {
        drop_slots(w);
        w->bus = bus;
        for (size_t i = 0; bus && i < w->n; i++) {
                WatchUnit *u = &w->items[i];

                if (sd_bus_match_signal_async(bus, &u->match, SYSTEMD, u->path,
                                    "org.freedesktop.DBus.Properties", "PropertiesChanged",
                                    on_changed, NULL, u) < 0)
                        log_warning("Cannot listen to %s: that it ends would go unseen; systemctl restart firstbootd listens anew.",
                                        u->name);
                ask(u);
        }
}

void watch_units_look(WatchUnits *w, Conditions *l, uint64_t now) {
        for (size_t i = 0; i < w->n; i++) {
                const WatchUnit *u = &w->items[i];
                char key[128];

                snprintf(key, sizeof(key), "unit:%s", u->name);
                if (!u->was_active || is_active(u->state))
                        conditions_clear(l, key);
                else
                        (void) conditions_set(
                                        l, key, "watch.unit", now, "%s is %s", u->name, u->state);
        }
}
