/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a command of a stage may take, as recipes and overlays say it. */

#include "recipe/limits.h"
#include "contract/quantity.h"
#include "shared/size.h"
#include "shared/time-util.h"

#define HOUR (3600 * USEC_PER_SEC)

static bool parse_time_limit(const char *s, uint64_t *ret) {
        return parse_duration_text(s, ret) >= 0 && *ret >= USEC_PER_SEC && *ret <= 100 * HOUR;
}

static bool parse_memory_limit(const char *s, uint64_t *ret) {
        return parse_bytes(s, ret) >= 0 && *ret >= UINT64_C(16) << 20;
}

const char *value_time_limit(const char *s) {
        uint64_t time;

        return parse_time_limit(s, &time)
                               ? NULL
                               : "is not a time (from 1s to 100h, as \"30min\" or \"4h\")";
}

const char *value_memory_limit(const char *s) {
        uint64_t bytes;

        return parse_memory_limit(s, &bytes)
                               ? NULL
                               : "is not a size of memory (from 16M, as \"512M\" or \"8G\")";
}

Limits limits_from_json(json_object *section) {
        const char *time = json_get_string(section, "time");
        const char *memory = json_get_string(section, "memory");
        Limits l = { .processes = (uint64_t) json_get_int(section, "processes", 0) };

        if (time)
                parse_time_limit(time, &l.time_usec);
        if (memory)
                parse_memory_limit(memory, &l.memory);
        return l;
}
