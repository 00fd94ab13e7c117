/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ranges are events in no order that one may rely on: the last one at or before a version says what
 * that is. */

#include "inspect/osv.h"
#include "common/deb-version.h"
#include "common/rpm-version.h"
#include "shared/strv.h"

#include <ctype.h>

/* Of which a package does not say the epoch: it is the same for all versions of a release. */
static int compare_sources(const char *a, const char *b) {
        return rpm_version_compare(rpm_version_bare(a), rpm_version_bare(b));
}

static const OsvKind kinds[] = {
        { "debian", "Debian:", false, true, deb_version_compare },
        { "ubuntu", "Ubuntu:", false, true, deb_version_compare },
        { "rocky", "Rocky Linux:", true, true, compare_sources },
        { "almalinux", "AlmaLinux:", true, false, rpm_version_compare },
        { "rhel", "Red Hat:enterprise_linux:", true, false, rpm_version_compare },
};

const OsvKind *osv_kind(json_object *os) {
        const char *distro = json_get_string(os, "distro");

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (streq_ptr(distro, kinds[i].distro))
                        return kinds + i;
        return NULL;
}

char *osv_ecosystem(const OsvKind *k, json_object *os) {
        int64_t major = json_get_int(os, "major", 0);

        if (streq(k->distro, "ubuntu"))
                return strf("%s%lld.%02lld", k->ecosystem, (long long) major,
                                (long long) json_get_int(os, "minor", 0));
        return strf("%s%lld", k->ecosystem, (long long) major);
}

bool osv_is_of(json_object *affected, const char *ecosystem) {
        const char *there = json_get_string(json_get(affected, "package"), "ecosystem"),
                   *rest = there ? startswith(there, ecosystem) : NULL;

        /* "Red Hat:enterprise_linux:10.0" is one of 10's. */
        return rest && (*rest == '\0' || *rest == ':' || *rest == '.');
}

/* "0" is before all versions. */
static int compare(const OsvKind *k, const char *version, const char *event) {
        return streq(event, "0") ? 1 : k->compare(version, event);
}

typedef struct Verdict {
        const char *last, *fixed; /* the last event so far; the first fix behind the version */
        bool affected;
} Verdict;

static void take_event(const OsvKind *k, Verdict *v, json_object *event, const char *version) {
        const char *introduced = json_get_string(event, "introduced"),
                   *fixed = json_get_string(event, "fixed"),
                   *last = json_get_string(event, "last_affected"),
                   *at = introduced ? introduced
                         : fixed    ? fixed
                                    : last;
        int order;

        if (!at)
                return;
        order = compare(k, version, at);
        if (fixed && order < 0 && (!v->fixed || k->compare(fixed, v->fixed) < 0))
                v->fixed = fixed;
        if (order < 0 || (at == last && order == 0))
                return;
        if (v->last && !streq(v->last, "0") && compare(k, v->last, at) > 0)
                return;
        v->last = at;
        v->affected = at == introduced;
}

static bool range_affects(
                const OsvKind *k, json_object *range, const char *version, const char **ret_fixed) {
        json_object *events = json_get(range, "events");
        Verdict v = {};

        if (streq_ptr(json_get_string(range, "type"), "GIT"))
                return false;
        for (size_t i = 0; i < json_array_length(events); i++)
                take_event(k, &v, json_object_array_get_idx(events, i), version);
        if (v.affected && v.fixed)
                *ret_fixed = v.fixed;
        return v.affected;
}

bool osv_affects(const OsvKind *k, json_object *affected, const char *version,
                const char **ret_fixed) {
        json_object *ranges = json_get(affected, "ranges"),
                    *versions = json_get(affected, "versions");

        for (size_t i = 0; i < json_array_length(ranges); i++)
                if (range_affects(k, json_object_array_get_idx(ranges, i), version, ret_fixed))
                        return true;
        for (size_t i = 0; i < json_array_length(versions); i++)
                if (streq_ptr(json_object_get_string(json_object_array_get_idx(versions, i)),
                                    version))
                        return true;
        return false;
}

/* --- modules ---------------------------------------------------------------------------------- */

static bool is_module_build(const char *version) {
        return version && strstr(version, ".module");
}

static bool names_module_builds(json_object *affected) {
        json_object *ranges = json_get(affected, "ranges"),
                    *versions = json_get(affected, "versions");

        for (size_t i = 0; i < json_array_length(versions); i++)
                if (is_module_build(json_object_get_string(json_object_array_get_idx(versions, i))))
                        return true;

        for (size_t i = 0; i < json_array_length(ranges); i++) {
                json_object *events = json_get(json_object_array_get_idx(ranges, i), "events");

                for (size_t k = 0; k < json_array_length(events); k++) {
                        json_object *event = json_object_array_get_idx(events, k);

                        if (is_module_build(json_get_string(event, "fixed")) ||
                                        is_module_build(json_get_string(event, "last_affected")))
                                return true;
                }
        }
        return false;
}

/* Whether "NAME:STREAM" of `module` is there: 1; another stream of the same name: 0; none: -1. */
static int find_stream(const char *text, const char *module) {
        size_t name = strcspn(module, ":") + 1;
        int found = -1;

        for (const char *p = text; (p = memmem(p, strlen(p), module, name)); p += name) {
                size_t stream = strcspn(p + name, " ,;)");

                if (p > text && !isspace((unsigned char) p[-1]) && p[-1] != ',' && p[-1] != '(')
                        continue;
                if (stream == strlen(module + name) && memcmp(p + name, module + name, stream) == 0)
                        return 1;
                found = stream > 0 ? 0 : found;
        }
        return found;
}

bool osv_is_of_module(json_object *record, json_object *affected, const char *version,
                const char *module) {
        if (names_module_builds(affected) != (module || is_module_build(version)))
                return false;
        return !module || find_stream(strempty(json_get_string(record, "summary")), module) != 0;
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
