/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The text of a verdict, which any program may have written, checked before anything relies on
 * it. */

#include "contract/result.h"
#include "shared/strv.h"

#define CODE_MAX 63 /* as an attempt keeps it */

bool result_status_is_known(const char *status) {
        return status && strv_contains(ARGV("done", "degraded", "skipped", "failed"), status);
}

bool result_code_is_valid(const char *code) {
        size_t n = strlen(code);

        return n > 0 && n <= CODE_MAX &&
               strspn(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
                               n;
}

/* The first field that is not what it must be, or NULL. null is as good as absent. */
static const char *wrong_field(json_object *o) {
        static const struct {
                const char *key;
                json_type type;
        } fields[] = {
                { "status", json_type_string },
                { "code", json_type_string },
                { "message", json_type_string },
                { "meaning", json_type_string },
                { "remedy", json_type_string },
                { "transient", json_type_boolean },
                { "figures", json_type_object },
        };

        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                json_object *value = json_get(o, fields[i].key);

                if (value && !json_object_is_type(value, fields[i].type))
                        return fields[i].key;
        }
        return NULL;
}

static const char *unreadable(char **ret_message, char *message) {
        *ret_message = message;
        return "step.verdict-unreadable";
}

const char *result_parse(const char *text, size_t size, json_object **ret, char **ret_message) {
        _cleanup_json_ json_object *o = NULL;
        const char *field, *status, *code, *message;
        JsonError e = {};

        if (json_parse(text, size, &e, &o) < 0)
                return unreadable(
                                ret_message, strf("its verdict is no JSON: line %u, column %u: %s",
                                                             e.line, e.column, e.message));
        if (!json_object_is_type(o, json_type_object))
                return unreadable(ret_message, strdup("its verdict is no JSON object { … }"));
        field = wrong_field(o);
        if (field)
                return unreadable(ret_message,
                                strf("\"%s\" in its verdict has a value of the wrong type", field));
        code = json_get_string(o, "code");
        if (code && !result_code_is_valid(code))
                return unreadable(ret_message,
                                strf("\"code\" in its verdict is no reason code of at most %d letters, digits, '.', '-' and '_'",
                                                CODE_MAX));

        status = json_get_string(o, "status");
        if (result_status_is_known(status)) {
                *ret = TAKE_PTR(o);
                return NULL;
        }

        message = json_get_string(o, "message");
        *ret_message = strf(
                        "its verdict %s%.40s%s is none of done, degraded, skipped and failed%s%s",
                        status ? "\"" : "", status ? status : "without a status",
                        status ? "\"" : "", message ? ": " : "", strempty(message));
        *ret = TAKE_PTR(o);
        return "step.verdict-unknown";
}
