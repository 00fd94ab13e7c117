/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/unit.h"
#include "contract/paths.h"
#include "shared/strv.h"

#include <ctype.h>
#include <mntent.h>
#include <time.h>

static uint64_t now_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * USEC_PER_SEC + (uint64_t) t.tv_nsec / NSEC_PER_USEC;
}

int unit_bus(sd_bus **ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system_with_description(&bus, "firstboot-step");
        if (r < 0)
                return r;
        r = sd_bus_call_method(
                        bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "Subscribe", NULL, NULL, NULL);
        if (r < 0 && r != -EEXIST)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

struct UnitWait {
        sd_bus *bus;
        sd_bus_slot *slot;
        char *job;   /* its path; NULL: the reply is not in yet */
        char **seen; /* "JOB RESULT" of jobs that ended, ours may be among them */
};

UnitWait *unit_wait_free(UnitWait *w) {
        if (!w)
                return NULL;
        sd_bus_slot_unref(w->slot);
        sd_bus_unref(w->bus);
        free(w->job);
        strv_free(w->seen);
        free(w);
        return NULL;
}

static int on_removed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        UnitWait *w = userdata;
        const char *path, *unit, *result;
        uint32_t id;

        (void) error;
        /* By job alone: the unit's name is its own there, not the alias that it was called by. */
        if (sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) < 0 ||
                        (w->job && !streq(path, w->job)))
                return 0;
        return strv_extendf(&w->seen, "%s %s", path, result);
}

/* The result of our job if it has ended, else NULL. */
static const char *job_result(const UnitWait *w) {
        STRV_FOREACH (s, w->seen) {
                const char *rest = startswith(*s, w->job);
                if (rest && *rest == ' ')
                        return rest + 1;
        }
        return NULL;
}

/* Sends the call, whose answer is a job. */
static int call_begin(sd_bus *bus, sd_bus_message *call, uint64_t timeout_usec, char **ret_result,
                UnitWait **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(unit_wait_freep) UnitWait *w = calloc(1, sizeof(*w));
        const char *path;
        int r;

        if (!w)
                return -ENOMEM;
        w->bus = sd_bus_ref(bus);
        r = sd_bus_match_signal(bus, &w->slot, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobRemoved",
                        on_removed, w);
        if (r < 0)
                return r;
        r = sd_bus_call(bus, call, MIN(timeout_usec, 60 * USEC_PER_SEC), &error, &reply);
        if (r < 0) {
                if (ret_result)
                        *ret_result = strdup(error.message ? error.message : strerror(-r));
                if (sd_bus_error_has_name(&error, "org.freedesktop.systemd1.NoSuchUnit"))
                        return -ENOENT;
                if (sd_bus_error_has_name(&error, "org.freedesktop.systemd1.UnitExists"))
                        return -EEXIST;
                return r;
        }
        r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return r;
        w->job = strdup(path);
        if (!w->job)
                return -ENOMEM;
        *ret = TAKE_PTR(w);
        return 0;
}

int unit_wait(UnitWait *w, uint64_t timeout_usec, char **ret_result) {
        uint64_t deadline = now_usec() + timeout_usec;
        const char *result;
        int r;

        while (!(result = job_result(w))) {
                uint64_t now = now_usec();

                if (now >= deadline) {
                        if (ret_result)
                                *ret_result = strdup("it did not end in time");
                        return -ETIMEDOUT;
                }
                r = sd_bus_process(w->bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(w->bus, deadline - now);
                if (r < 0 && r != -EINTR)
                        return r;
        }
        r = streq(result, "done") || streq(result, "skipped") ? 0
            : streq(result, "timeout")                        ? -ETIMEDOUT
                                                              : -EIO;
        if (r < 0 && ret_result)
                *ret_result = strdup(result);
        return r;
}

/* Sends the call and waits until its job has ended. */
static int call_and_wait(
                sd_bus *bus, sd_bus_message *call, uint64_t timeout_usec, char **ret_result) {
        _cleanup_(unit_wait_freep) UnitWait *w = NULL;
        int r = call_begin(bus, call, timeout_usec, ret_result, &w);

        return r < 0 ? r : unit_wait(w, timeout_usec, ret_result);
}

int unit_begin(sd_bus *bus, const char *method, const char *unit, uint64_t timeout_usec,
                char **ret_result, UnitWait **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, method);
        if (r >= 0)
                r = sd_bus_message_append(m, "ss", unit, "replace");
        return r < 0 ? r : call_begin(bus, m, timeout_usec, ret_result, ret);
}

int unit_job(sd_bus *bus, const char *method, const char *unit, uint64_t timeout_usec,
                char **ret_result) {
        _cleanup_(unit_wait_freep) UnitWait *w = NULL;
        int r = unit_begin(bus, method, unit, timeout_usec, ret_result, &w);

        return r < 0 ? r : unit_wait(w, timeout_usec, ret_result);
}

int unit_signal(sd_bus *bus, const char *unit, int signal) {
        return sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "KillUnit", NULL,
                        NULL, "ssi", unit, "main", signal);
}

int unit_active_state(sd_bus *bus, const char *unit, char **ret) {
        _cleanup_free_ char *path = NULL;
        int r = sd_bus_path_encode(SYSTEMD_PATH "/unit", unit, &path);

        return r < 0 ? r
                     : sd_bus_get_property_string(bus, SYSTEMD, path, SYSTEMD ".Unit",
                                       "ActiveState", NULL, ret);
}

bool unit_is_active(sd_bus *bus, const char *unit) {
        _cleanup_free_ char *state = NULL;

        return unit_active_state(bus, unit, &state) >= 0 && streq(state, "active");
}

char *unit_mount_name(const char *where) {
        size_t n = strlen(where);
        char *name = malloc(n * 4 + strlen(".mount") + 1), *p = name;

        if (!name)
                return NULL;
        while (n > 1 && where[n - 1] == '/')
                n--;
        for (size_t i = 1; i < n; i++) {
                unsigned char c = (unsigned char) where[i];

                if (c == '/')
                        *p++ = '-';
                else if (isalnum(c) || c == '_' || c == ':' || (c == '.' && i > 1))
                        *p++ = (char) c;
                else
                        p += sprintf(p, "\\x%02x", c);
        }
        strcpy(p, ".mount");
        return name;
}

int unit_mount_message(sd_bus *bus, const MountUnit *m, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *q = NULL;
        _cleanup_free_ char *name = unit_mount_name(m->where);
        int r;

        if (!name)
                return -ENOMEM;
        r = sd_bus_message_new_method_call(
                        bus, &q, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartTransientUnit");
        if (r >= 0)
                r = sd_bus_message_append(q, "ss", name, "replace");
        if (r >= 0)
                r = sd_bus_message_open_container(q, 'a', "(sv)");
        if (r >= 0)
                r = sd_bus_message_append(q, "(sv)(sv)(sv)(sv)(sv)", "Description", "s",
                                m->description, "What", "s", m->what, "Type", "s", m->type,
                                "Options", "s", strempty(m->options), "TimeoutUSec", "t",
                                m->timeout_usec);
        if (r >= 0 && m->network)
                r = sd_bus_message_append(q, "(sv)(sv)", "After", "as", 1, "network-online.target",
                                "Wants", "as", 1, "network-online.target");
        if (r >= 0)
                r = sd_bus_message_close_container(q);
        if (r >= 0)
                r = sd_bus_message_append(q, "a(sa(sv))", 0);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(q);
        return 0;
}

int unit_mount(sd_bus *bus, const MountUnit *m, char **ret_result) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *q = NULL;
        _cleanup_free_ char *name = unit_mount_name(m->where), *result = NULL;
        int r;

        if (!name)
                return -ENOMEM;
        /* A unit that failed before stays in systemd's memory under this name and refuses a new
         * one. */
        (void) sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "ResetFailedUnit",
                        NULL, NULL, "s", name);
        r = unit_mount_message(bus, m, &q);
        if (r >= 0)
                r = call_and_wait(bus, q, m->timeout_usec + 15 * USEC_PER_SEC, &result);
        if (r == -EEXIST) {
                free(TAKE_PTR(result));
                r = unit_job(bus, "StartUnit", name, m->timeout_usec + 15 * USEC_PER_SEC, &result);
        }
        if (r < 0 && ret_result)
                *ret_result = TAKE_PTR(result);
        return r;
}

bool mounted_at(const char *where, char **ret_source) {
        _cleanup_free_ char *table = fb_path("/proc/self/mounts"), *source = NULL;
        struct mntent *e;
        FILE *f = table ? setmntent(table, "re") : NULL;

        if (!f)
                return false;
        while ((e = getmntent(f)))
                if (streq(e->mnt_dir, where)) {
                        free(source);
                        source = strdup(e->mnt_fsname);
                }
        endmntent(f);
        if (source && ret_source)
                *ret_source = TAKE_PTR(source);
        return source || (ret_source && *ret_source);
}
