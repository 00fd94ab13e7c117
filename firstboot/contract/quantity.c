/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads sizes and durations of the configuration. */

#include "contract/quantity.h"
#include "shared/size.h"

#include <ctype.h>

/* What a plain JSON number counts is for the caller to say. */
static int take_number(json_object *value, uint64_t factor, uint64_t *ret) {
        int64_t n = json_object_get_int64(value);
        uint64_t product;

        if (n < 0 || __builtin_mul_overflow((uint64_t) n, factor, &product) || product > INT64_MAX)
                return -ERANGE;

        *ret = product;
        return 0;
}

/* Of the units that parse_bytes() knows, the configuration has the plain letters. */
static bool is_size(const char *text) {
        size_t digits = strspn(text, "0123456789");

        if (digits == 0)
                return false;
        return text[digits] == '\0' || (strchr("KMGT", text[digits]) && text[digits + 1] == '\0');
}

int parse_size(json_object *value, uint64_t *ret_bytes) {
        uint64_t bytes;
        int r;

        if (json_object_is_type(value, json_type_int))
                return take_number(value, 1, ret_bytes);
        if (!json_object_is_type(value, json_type_string) ||
                        !is_size(json_object_get_string(value)))
                return -EINVAL;

        r = parse_bytes(json_object_get_string(value), &bytes);
        if (r < 0)
                return r;
        if (bytes > INT64_MAX)
                return -ERANGE;

        *ret_bytes = bytes;
        return 0;
}

int parse_duration_text(const char *text, uint64_t *ret_usec) {
        static const struct {
                const char *unit;
                uint64_t usec;
        } units[] = {
                { "", USEC_PER_SEC },
                { "ms", USEC_PER_MSEC },
                { "s", USEC_PER_SEC },
                { "min", 60 * USEC_PER_SEC },
                { "h", 3600 * USEC_PER_SEC },
        };
        uint64_t number, usec;
        char *end;

        if (!isdigit((unsigned char) text[0]))
                return -EINVAL;
        errno = 0;
        number = strtoull(text, &end, 10);
        if (errno)
                return -ERANGE;

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                if (!streq(end, units[i].unit))
                        continue;
                if (__builtin_mul_overflow(number, units[i].usec, &usec) || usec > INT64_MAX)
                        return -ERANGE;
                *ret_usec = usec;
                return 0;
        }
        return -EINVAL;
}

int parse_duration(json_object *value, uint64_t *ret_usec) {
        if (json_object_is_type(value, json_type_int))
                return take_number(value, USEC_PER_SEC, ret_usec);
        if (!json_object_is_type(value, json_type_string))
                return -EINVAL;
        return parse_duration_text(json_object_get_string(value), ret_usec);
}

uint64_t config_size(json_object *section, const char *key, uint64_t fallback) {
        json_object *value = json_get(section, key);
        uint64_t bytes;

        return value && parse_size(value, &bytes) >= 0 ? bytes : fallback;
}

uint64_t config_duration(json_object *section, const char *key, uint64_t fallback_usec) {
        json_object *value = json_get(section, key);
        uint64_t usec;

        return value && parse_duration(value, &usec) >= 0 ? usec : fallback_usec;
}
