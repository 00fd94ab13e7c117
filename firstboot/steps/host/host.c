/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The machine itself: host name, time zone, firewall, root file system grown to its disk, kernel
 * settings, limits. */

#include "steps/step.h"
#include "shared/file-util.h"
#include "steps/host/grow.h"
#include "shared/log.h"
#include "contract/paths.h"
#include "steps/unit.h"

#include <fcntl.h>
#include <limits.h>

#define SYSCTL_FILE "/etc/sysctl.d/90-firstboot.conf"
#define LIMITS_FILE "/etc/security/limits.d/90-firstboot.conf"
#define UNIT_USEC (60 * USEC_PER_SEC)

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

static bool unit_file_exists(const char *unit) {
        static const char *const folders[] = { "/etc/systemd/system", "/usr/lib/systemd/system",
                "/lib/systemd/system" };

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = fb_pathf("%s/%s", folders[i], unit);
                if (path && access(path, F_OK) >= 0)
                        return true;
        }
        return false;
}

/* Enabling and starting are two things; both are done through systemd, and both are idempotent. */
static int switch_firewall(StepContext *c, sd_bus *bus, bool on) {
        static const char *const units[] = { "firewalld.service", "ufw.service",
                "nftables.service" };
        size_t seen = 0;

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_free_ char *result = NULL;
                int r;

                if (!unit_file_exists(units[i]))
                        continue;
                /* On: the first that is installed. Off: all of them. */
                if (on && seen > 0)
                        break;
                seen++;
                r = on ? sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                                         "EnableUnitFiles", &error, NULL, "asbb", 1, units[i], 0, 1)
                       : sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                                         "DisableUnitFiles", &error, NULL, "asb", 1, units[i], 0);
                if (r < 0)
                        return step_fail_later(c, "host.firewall", "%s not %s: %s", units[i],
                                        on ? "enabled" : "disabled",
                                        error.message ? error.message : strerror(-r));
                r = unit_job(bus, on ? "StartUnit" : "StopUnit", units[i], UNIT_USEC, &result);
                if (r < 0 && !(r == -ENOENT && !on))
                        return step_fail_later(c, "host.firewall", "%s not %s: %s", units[i],
                                        on ? "started" : "stopped", strempty(result));
        }
        if (on && seen == 0)
                return step_fail(c, "host.firewall",
                                "host.firewall is \"on\", but none of firewalld, ufw and nftables is installed");
        return 0;
}

/* Writes a file of ours where its content differs; returns 1 where it did. */
static int replace_file(const char *name, const char *text) {
        _cleanup_free_ char *path = fb_path(name), *old = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        if (read_file(path, 1024 * 1024, &old, NULL) >= 0 && streq(old, text))
                return 0;
        r = mkdir_parents(path, 0755);
        if (r >= 0)
                r = write_file_durable(path, text, strlen(text), 0644);
        return r < 0 ? r : 1;
}

static int set_sysctl(StepContext *c, json_object *map) {
        _cleanup_free_ char *text = strf("# Written by firstboot from host.sysctl.\n");
        int r;

        json_object_object_foreach (map, key, value) {
                char *more = strf(
                                "%s%s = %s\n", strempty(text), key, json_object_get_string(value));

                free(text);
                text = more;
        }
        if (!text)
                return -ENOMEM;
        r = replace_file(SYSCTL_FILE, text);
        if (r < 0)
                return step_fail_later(
                                c, "host.sysctl", "%s not written: %s", SYSCTL_FILE, strerror(-r));

        json_object_object_foreach (map, name, wanted) {
                _cleanup_free_ char *path = fb_pathf("/proc/sys/%s", name);
                const char *v = json_object_get_string(wanted);
                int error = 0;

                if (!path)
                        return -ENOMEM;
                /* As sysctl has it: dots separate, unless a slash came first; then slashes do. */
                char *tail = strstr(path, "/proc/sys/") + strlen("/proc/sys/");
                if (!strchr(tail, '/') ||
                                (strchr(tail, '.') && strchr(tail, '.') < strchr(tail, '/')))
                        for (char *p = tail; *p; p++)
                                *p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
                if (strstr(tail, ".."))
                        return step_fail(c, "host.sysctl", "%s is no kernel setting", name);
                /* Without O_CREAT: a key that this kernel does not have is an error, not a new
                 * file. */
                _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
                if (fd < 0 || dprintf(fd, "%s\n", v) < 0)
                        error = errno;
                if (error)
                        return step_fail(c, "host.sysctl", "%s = %s not set: %s", name, v,
                                        strerror(error));
        }
        return 0;
}

static int set_limits(StepContext *c, json_object *list) {
        _cleanup_free_ char *text = strf("# Written by firstboot from host.limits.\n");
        int r;

        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *o = json_object_array_get_idx(list, i);
                char *more = strf("%s%s %s %s %s\n", strempty(text), json_get_string(o, "domain"),
                                json_get_string(o, "type"), json_get_string(o, "item"),
                                json_get_string(o, "value"));

                free(text);
                text = more;
        }
        r = text ? replace_file(LIMITS_FILE, text) : -ENOMEM;
        return r < 0 ? step_fail_later(c, "host.limits", "%s not written: %s", LIMITS_FILE,
                                       strerror(-r))
                     : 0;
}

int host_run(StepContext *c) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        const char *hostname = json_get_string(c->section, "hostname"),
                   *timezone = json_get_string(c->section, "timezone");
        const char *firewall = json_get_string(c->section, "firewall");
        json_object *sysctl = json_get(c->section, "sysctl"),
                    *limits = json_get(c->section, "limits");
        bool switched = firewall && !streq(firewall, "keep");
        int r = 0, q;

        if (hostname || timezone || switched) {
                r = unit_bus(&bus);
                if (r < 0)
                        return step_fail_later(c, "host.hostname",
                                        "the system bus does not answer: %s", strerror(-r));
        }
        /* What fails does not keep the rest from being done; the first failure is the one
         * reported. */
        r = hostname ? set_hostname(c, bus, hostname) : 0;
        q = timezone ? set_timezone(c, bus, timezone) : 0;
        r = r < 0 ? r : q;
        q = switched ? switch_firewall(c, bus, streq(firewall, "on")) : 0;
        r = r < 0 ? r : q;
        q = sysctl ? set_sysctl(c, sysctl) : 0;
        r = r < 0 ? r : q;
        q = limits ? set_limits(c, limits) : 0;
        r = r < 0 ? r : q;
        q = json_get_bool(c->section, "grow_root", true) ? grow_root(c) : 0;
        r = r < 0 ? r : q;
        return r < 0 ? r : step_done(c, "host as configured");
}
