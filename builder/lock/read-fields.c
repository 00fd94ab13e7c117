/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Single objects and lists of a lock file: what may stand in them, and what is said of the rest. */

#include "lock/read.h"
#include "shared/log.h"

#include <stdarg.h>

void lock_bad(Reader *r, const char *where, const char *format, ...) {
        char text[300];
        va_list ap;

        if (++r->errors > ERRORS_SHOWN)
                return;
        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        log_error("%s: %s: %s", r->path, where, text);
}

void lock_unknown_key(Reader *r, const char *where, const char *key) {
        lock_bad(r, where, "unknown key \"%s\"; was this lock written by a newer imgbuild?", key);
}

/* Fills `strings` (one a text field, in order; NULL where absent) and `numbers` (of all others;
 * none is optional). */
bool lock_read_fields(Reader *r, json_object *o, const char *where, const Field *fields, size_t n,
                const char *strings[], uint64_t *numbers) {
        size_t before = r->errors, s = 0;

        if (!json_object_is_type(o, json_type_object)) {
                lock_bad(r, where, "must be an object");
                return false;
        }
        json_object_object_foreach (o, key, ignored) {
                bool known = false;

                (void) ignored;
                for (size_t i = 0; i < n; i++)
                        known = known || streq(fields[i].key, key);
                if (!known)
                        lock_unknown_key(r, where, key);
        }
        for (size_t i = 0; i < n; i++) {
                const Field *f = fields + i;
                json_object *value = json_get(o, f->key);

                if (f->valid)
                        strings[s++] = NULL;
                if (!value) {
                        if (!f->optional)
                                lock_bad(r, where, "\"%s\" is missing: %s", f->key, f->wanted);
                } else if (!f->valid) {
                        int64_t v = json_object_is_type(value, json_type_int)
                                                    ? json_object_get_int64(value)
                                                    : -1;

                        if (v < 0)
                                lock_bad(r, where, "\"%s\" must be %s", f->key, f->wanted);
                        else
                                *numbers++ = (uint64_t) v;
                } else if (!json_object_is_type(value, json_type_string) ||
                                !f->valid(json_object_get_string(value)))
                        lock_bad(r, where, "\"%s\" must be %s", f->key, f->wanted);
                else
                        strings[s - 1] = json_object_get_string(value);
        }
        return r->errors == before;
}

/* The array at key, empty where it is not one (which is reported). */
json_object *lock_read_array(
                Reader *r, json_object *o, const char *where, const char *key, size_t *ret_n) {
        json_object *a = json_get(o, key);

        *ret_n = 0;
        if (!a || !json_object_is_type(a, json_type_array)) {
                lock_bad(r, where, "\"%s\" must be a list", key);
                return NULL;
        }
        *ret_n = json_object_array_length(a);
        return a;
}
