/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A site's own reason codes: checked, and put into verdicts. */

#include "contract/step-codes.h"
#include "contract/codes.h"
#include "contract/config-rules.h"
#include "contract/result.h"

/* What is wrong with one entry, or NULL. */
static const char *fault_of(const Step *s, const char *code, json_object *entry) {
        size_t n = strlen(s->name);

        if (strncmp(code, s->name, n) != 0 || code[n] != '.' || !result_code_is_valid(code))
                return "a code is the step's name, a '.', and letters, digits, '.', '-', '_': at most 63 in all";
        if (code_find(code))
                return "firstboot has this code already";
        if (!json_object_is_type(entry, json_type_object))
                return "must be an object with \"meaning\" and \"remedy\"";

        json_object_object_foreach (entry, key, value) {
                if (!streq(key, "meaning") && !streq(key, "remedy"))
                        return "knows \"meaning\" and \"remedy\" alone";
                if (!json_object_is_type(value, json_type_string))
                        return "\"meaning\" and \"remedy\" must be text";
                if (check_line(json_object_get_string(value)))
                        return "\"meaning\" and \"remedy\" are a line each, without control characters";
        }
        if (isempty(json_get_string(entry, "meaning")) || isempty(json_get_string(entry, "remedy")))
                return "must have \"meaning\", why the node is refused, and \"remedy\", what to do next";
        return NULL;
}

int step_codes_check(const Step *s, json_object *table, char ***errors) {
        int r;

        if (!table)
                return 0;
        if (!json_object_is_type(table, json_type_object))
                return strv_extendf(
                                errors, "%s: \"codes\" must be an object of reason codes", s->file);

        json_object_object_foreach (table, code, entry) {
                const char *fault = fault_of(s, code, entry);

                if (!fault)
                        continue;
                r = strv_extendf(errors, "%s: codes.%s: %s", s->file, code, fault);
                if (r < 0)
                        return r;
        }
        return 0;
}

void step_codes_explain(const Step *s, json_object *verdict) {
        const char *code = json_get_string(verdict, "code");
        json_object *entry = code ? json_get(s->codes, code) : NULL;

        if (!entry)
                return;
        (void) json_set_string(verdict, "meaning", json_get_string(entry, "meaning"));
        if (isempty(json_get_string(verdict, "remedy")))
                (void) json_set_string(verdict, "remedy", json_get_string(entry, "remedy"));
}
