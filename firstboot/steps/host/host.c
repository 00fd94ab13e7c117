/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The machine itself: host name, time zone, firewall, root file system grown to its disk, kernel
 * settings, SELinux's booleans, limits. */

#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/common/own-file.h"
#include "steps/common/unit.h"
#include "steps/host/firewall.h"
#include "steps/host/grow.h"
#include "steps/host/metadata-guard.h"
#include "steps/host/read-only.h"
#include "steps/host/selinux.h"
#include "steps/host/sysctl.h"
#include "steps/steps.h"

#include <fcntl.h>
#include <limits.h>

#define SYSCTL_FILE "/etc/sysctl.d/90-firstboot.conf"
#define LIMITS_FILE "/etc/security/limits.d/90-firstboot.conf"

/* What is there already is not asked for: no service is woken for nothing. */
static bool file_says(const char *path, const char *text) {
        _cleanup_free_ char *p = fb_path(path), *now = NULL;

        return p && read_line_file(p, &now) >= 0 && streq(now, text);
}

static int set_hostname(StepContext *c, sd_bus *bus, const char *name) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        if (file_says("/etc/hostname", name))
                return 0;
        r = sd_bus_call_method(bus, "org.freedesktop.hostname1", "/org/freedesktop/hostname1",
                        "org.freedesktop.hostname1", "SetStaticHostname", &error, NULL, "sb", name,
                        0);
        if (r < 0)
                return step_fail_later(c, "host.hostname", "host name %s not set: %s", name,
                                error.message ? error.message : strerror(-r));
        log_info("Host name is %s.", name);
        return 0;
}

static int set_timezone(StepContext *c, sd_bus *bus, const char *zone) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *link = fb_path("/etc/localtime"), *want = strf("/zoneinfo/%s", zone);
        char target[PATH_MAX] = "";
        int r;

        ssize_t n = link ? readlink(link, target, sizeof(target) - 1) : -1;
        if (n > 0 && want && endswith(target, want))
                return 0;
        r = sd_bus_call_method(bus, "org.freedesktop.timedate1", "/org/freedesktop/timedate1",
                        "org.freedesktop.timedate1", "SetTimezone", &error, NULL, "sb", zone, 0);
        if (r < 0)
                return step_fail_later(c, "host.timezone", "time zone %s not set: %s", zone,
                                error.message ? error.message : strerror(-r));
        log_info("Time zone is %s.", zone);
        return 0;
}

static int apply_sysctl(StepContext *c, const char *name, const char *value) {
        _cleanup_free_ char *path = host_sysctl_path(name);
        int r;

        if (!path)
                return -ENOMEM;
        if (strstr(path, "/.."))
                return step_fail(c, "host.sysctl", "%s is no kernel setting", name);

        r = host_put_setting(path, value);
        if (r < 0)
                return step_fail(
                                c, "host.sysctl", "%s = %s not set: %s", name, value, strerror(-r));
        return 0;
}

/* Writes one of our files. */
static int put_file(StepContext *c, const char *code, const char *name, char *const *lines) {
        _cleanup_free_ char *text = strv_join(lines, "");
        int r;

        if (!text)
                return -ENOMEM;
        r = own_file_put(name, text, 0644, true);
        if (r < 0)
                return step_fail_later(c, code, "%s not written: %s", name, strerror(-r));
        return 0;
}

/* Set now, and kept in a file for the boots to come. */
static int set_sysctl(StepContext *c, json_object *map) {
        _cleanup_strv_free_ char **lines = NULL;
        int r;

        r = strv_extend(&lines, "# Written by firstboot from host.sysctl.\n");
        if (r < 0)
                return r;
        json_object_object_foreach (map, key, value) {
                r = strv_extendf(&lines, "%s = %s\n", key, json_object_get_string(value));
                if (r < 0)
                        return r;
        }
        r = put_file(c, "host.sysctl", SYSCTL_FILE, lines);
        if (r < 0)
                return r;

        json_object_object_foreach (map, name, wanted) {
                r = apply_sysctl(c, name, json_object_get_string(wanted));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int set_limits(StepContext *c, json_object *list) {
        _cleanup_strv_free_ char **lines = NULL;
        int r;

        r = strv_extend(&lines, "# Written by firstboot from host.limits.\n");
        if (r < 0)
                return r;
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *o = json_object_array_get_idx(list, i);

                r = strv_extendf(&lines, "%s %s %s %s\n", json_get_string(o, "domain"),
                                json_get_string(o, "type"), json_get_string(o, "item"),
                                json_get_string(o, "value"));
                if (r < 0)
                        return r;
        }
        return put_file(c, "host.limits", LIMITS_FILE, lines);
}

/* The first failure is the one that is returned. */
static void note(int *first, int r) {
        if (*first >= 0)
                *first = r;
}

int host_run(StepContext *c) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        const char *hostname = json_get_string(c->section, "hostname"),
                   *timezone = json_get_string(c->section, "timezone"),
                   *firewall = json_get_string(c->section, "firewall");
        json_object *sysctl = json_get(c->section, "sysctl"),
                    *limits = json_get(c->section, "limits"), *grow = json_get(c->section, "grow");
        bool switched = firewall && !streq(firewall, "keep"),
             guarded = metadata_guard_is_wanted(c->config);
        int r = 0;

        if (host_is_read_only())
                return host_fail_read_only(c);
        if (hostname || timezone || switched || guarded) {
                r = unit_bus(&bus);
                if (r < 0)
                        return unit_fail_no_bus(c, "host.hostname", r);
        }

        /* What fails does not keep the rest from being done. */
        if (hostname)
                note(&r, set_hostname(c, bus, hostname));
        if (timezone)
                note(&r, set_timezone(c, bus, timezone));
        if (switched)
                note(&r, switch_firewall(c, bus, streq(firewall, "on")));
        if (guarded) /* after the firewall, which flushes */
                note(&r, metadata_guard_apply(c, bus));
        if (sysctl)
                note(&r, set_sysctl(c, sysctl));
        note(&r, selinux_booleans_apply(c));
        if (limits)
                note(&r, set_limits(c, limits));
        if (json_get_bool(c->section, "grow_root", true))
                note(&r, grow_filesystem_at(c, "/"));
        for (size_t i = 0; grow && i < json_object_array_length(grow); i++)
                note(&r, grow_filesystem_at(c, json_object_get_string(json_object_array_get_idx(
                                                               grow, i))));
        return r < 0 ? r : step_done(c, "host as configured");
}
