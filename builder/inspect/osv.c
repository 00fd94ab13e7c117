/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ranges are events in no order that one may rely on: the last one at or before a version says what
 * that is. */

#include "inspect/osv.h"
#include "common/deb-version.h"
#include "shared/strv.h"

char *osv_ecosystem(json_object *os) {
        int64_t major = json_get_int(os, "major", 0);

        if (streq_ptr(json_get_string(os, "distro"), "ubuntu"))
                return strf("Ubuntu:%lld.%02lld", (long long) major,
                                (long long) json_get_int(os, "minor", 0));
        return strf("Debian:%lld", (long long) major);
}

bool osv_is_of(json_object *affected, const char *ecosystem) {
        const char *there = json_get_string(json_get(affected, "package"), "ecosystem"),
                   *rest = there ? startswith(there, ecosystem) : NULL;

        return rest && (*rest == '\0' || *rest == ':');
}

/* "0" is before all versions. */
static int compare(const char *version, const char *event) {
        return streq(event, "0") ? 1 : deb_version_compare(version, event);
}

typedef struct Verdict {
        const char *last, *fixed; /* the last event so far; the first fix behind the version */
        bool affected;
} Verdict;

static void take_event(Verdict *v, json_object *event, const char *version) {
        const char *introduced = json_get_string(event, "introduced"),
                   *fixed = json_get_string(event, "fixed"),
                   *last = json_get_string(event, "last_affected"),
                   *at = introduced ? introduced
                         : fixed    ? fixed
                                    : last;
        int order;

        if (!at)
                return;
        order = compare(version, at);
        if (fixed && order < 0 && (!v->fixed || deb_version_compare(fixed, v->fixed) < 0))
                v->fixed = fixed;
        if (order < 0 || (at == last && order == 0))
                return;
        if (v->last && !streq(v->last, "0") && compare(v->last, at) > 0)
                return;
        v->last = at;
        v->affected = at == introduced;
}

static bool range_affects(json_object *range, const char *version, const char **ret_fixed) {
        json_object *events = json_get(range, "events");
        Verdict v = {};

        if (streq_ptr(json_get_string(range, "type"), "GIT"))
                return false;
        for (size_t i = 0; i < json_array_length(events); i++)
                take_event(&v, json_object_array_get_idx(events, i), version);
        if (v.affected && v.fixed)
                *ret_fixed = v.fixed;
        return v.affected;
}

bool osv_affects(json_object *affected, const char *version, const char **ret_fixed) {
        json_object *ranges = json_get(affected, "ranges"),
                    *versions = json_get(affected, "versions");

        for (size_t i = 0; i < json_array_length(ranges); i++)
                if (range_affects(json_object_array_get_idx(ranges, i), version, ret_fixed))
                        return true;
        for (size_t i = 0; i < json_array_length(versions); i++)
                if (streq_ptr(json_object_get_string(json_object_array_get_idx(versions, i)),
                                    version))
                        return true;
        return false;
}

const char *osv_urgency(json_object *record, json_object *affected) {
        json_object *severity = json_get(record, "severity");
        const char *urgency = json_get_string(json_get(affected, "ecosystem_specific"), "urgency");

        if (!urgency)
                urgency = json_get_string(json_get(record, "database_specific"), "severity");
        if (!urgency && json_array_length(severity) > 0)
                urgency = json_get_string(json_object_array_get_idx(severity, 0), "score");
        return urgency;
}
