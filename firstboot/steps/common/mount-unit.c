/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Mounts are jobs of systemd's like any other: it orders them, limits their time and ends them at
 * shutdown. */

#include "steps/common/mount-unit.h"
#include "contract/paths.h"
#include "steps/common/unit.h"

#include <ctype.h>

/* What systemd needs beyond the mount program's own limit. */
#define SLACK_USEC (15 * USEC_PER_SEC)

char *mount_unit_name(const char *where) {
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
        memcpy(p, ".mount", sizeof(".mount"));
        return name;
}

/* The properties of the unit, in a container that is open. */
static int append_properties(sd_bus_message *q, const MountUnit *m) {
        int r;

        r = sd_bus_message_append(q, "(sv)(sv)(sv)(sv)(sv)", "Description", "s", m->description,
                        "What", "s", m->what, "Type", "s", m->type, "Options", "s",
                        strempty(m->options), "TimeoutUSec", "t", m->timeout_usec);
        if (r < 0 || !m->network)
                return r;
        return sd_bus_message_append(q, "(sv)(sv)", "After", "as", 1, "network-online.target",
                        "Wants", "as", 1, "network-online.target");
}

int mount_unit_message(sd_bus *bus, const MountUnit *m, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *q = NULL;
        _cleanup_free_ char *name = mount_unit_name(m->where);
        int r;

        if (!name)
                return -ENOMEM;
        r = sd_bus_message_new_method_call(
                        bus, &q, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartTransientUnit");
        if (r < 0)
                return r;
        r = sd_bus_message_append(q, "ss", name, "replace");
        if (r < 0)
                return r;

        r = sd_bus_message_open_container(q, 'a', "(sv)");
        if (r < 0)
                return r;
        r = append_properties(q, m);
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(q);
        if (r < 0)
                return r;

        r = sd_bus_message_append(q, "a(sa(sv))", 0); /* no auxiliary units */
        if (r < 0)
                return r;
        *ret = TAKE_PTR(q);
        return 0;
}

int mount_unit_start(sd_bus *bus, const MountUnit *m, char **ret_result) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *q = NULL;
        _cleanup_free_ char *name = mount_unit_name(m->where), *result = NULL;
        int r;

        if (!name)
                return -ENOMEM;
        /* A unit that failed before stays in systemd's memory under this name and refuses a new
         * one. */
        (void) sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "ResetFailedUnit",
                        NULL, NULL, "s", name);

        r = mount_unit_message(bus, m, &q);
        if (r < 0)
                return r;
        r = unit_call(bus, q, m->timeout_usec + SLACK_USEC, &result);
        if (r == -EEXIST) {
                free(TAKE_PTR(result));
                r = unit_job(bus, "StartUnit", name, m->timeout_usec + SLACK_USEC, &result);
        }
        if (r < 0 && ret_result)
                *ret_result = TAKE_PTR(result);
        return r;
}
