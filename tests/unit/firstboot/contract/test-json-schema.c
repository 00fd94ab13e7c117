/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/config-rules.h"
#include "contract/config-schema.h"
#include "contract/json-schema.h"
#include "shared/strv.h"

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static bool matches(const char *pattern, const char *text) {
        regex_t re;
        int r;

        assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
        r = regexec(&re, text, 0, NULL, 0);
        regfree(&re);
        return r == 0;
}

static bool pattern_takes(const StringPattern *p, const char *text) {
        return (!p->pattern || matches(p->pattern, text)) &&
               (!p->no_pattern || !matches(p->no_pattern, text)) &&
               (p->max_length == 0 || strlen(text) <= p->max_length);
}

/* Each string is given to every rule of the table and to its pattern. */
static const char *const samples[] = { "", "a", "/", "/a", "/a/b", "/a/../b", "/a/..", "//a",
        "/a//b", "/a\nb", "a b", "a\tb", "a,b", "-a", ".a", ".", "..", "a.b-c", "a_b",
        "gpu-01.cluster", "Etc/UTC", "/etc", "../x", "localscratch", "local-scratch",
        "thirteen-char", "noatime,vers=3", "head:/home", "head:/ho me", "ldap://h", "ldaps://h",
        "ldap://a,ldap://b", "http://x/", "https://x/y", "ftp://x", "root", "a:b", "head:6817",
        "head:0", "head:65535", "head:65536", "head:", "head:x", "a\"b", "a'b", "a\\b", "79",
        "12345", "x1", "ALL", "all", "ball", "/usr", "/usr/", "/usr/local", "/users",
        "aB3def-0123-4567-89ab-cdef-ghij-klmnop", "aB3def-0123-4567-89ab-cdef-ghij-klmno",
        "aB3def-0123-4567-89ab-cdef-ghij-klmnopq", "aB3def-0123-4567-89ab-cdef-gh.j-klmnop", "Gpu0",
        "gpu0-", "abcdef.0123456789abcdef", "abcdef.0123456789abcdeF", "abcdef-0123456789abcdef",
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde",
        "sha512:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" };

static void patterns_say_what_the_rules_say(void **state _unused_) {
        for (size_t k = 0; k < config_keys_count; k++) {
                const StringPattern *p;

                if (!config_keys[k].check || config_keys[k].check == check_gpu_fact)
                        continue;
                p = config_pattern_find(config_keys[k].check);
                if (!p)
                        fail_msg("%s: its rule has no pattern", config_keys[k].path);
                for (size_t i = 0; i < ELEMENTSOF(samples); i++)
                        if (pattern_takes(p, samples[i]) != !config_keys[k].check(samples[i]))
                                fail_msg("%s: rule and pattern disagree over \"%s\"",
                                                config_keys[k].path, samples[i]);
        }
}

static json_object *schema_of(json_object *schema, const char *path) {
        _cleanup_strv_free_ char **parts = strv_split(path, ".");

        STRV_FOREACH (part, parts) {
                _cleanup_free_ char *name = strndup(*part, strcspn(*part, "["));
                json_object *next =
                                streq(name, "*") ? json_get(schema, "additionalProperties")
                                                 : json_get(json_get(schema, "properties"), name);

                schema = endswith(*part, "[]") ? json_get(next, "items") : next;
        }
        return schema;
}

static void every_key_has_its_place(void **state _unused_) {
        _cleanup_json_ json_object *o = NULL;

        assert_int_equal(config_json_schema(NULL, &o), 0);
        for (size_t k = 0; k < config_keys_count; k++) {
                json_object *s = schema_of(o, config_keys[k].path);

                if (!s || !streq_ptr(json_get_string(s, "description"), config_keys[k].meaning))
                        fail_msg("the schema lacks %s", config_keys[k].path);
        }
}

static void durations_count_in_seconds(void **state _unused_) {
        _cleanup_json_ json_object *o = NULL;
        json_object *any;

        assert_int_equal(config_json_schema(NULL, &o), 0);
        any = json_get(schema_of(o, "slurm.clock_skew_max"), "anyOf");
        assert_int_equal(json_get_int(json_object_array_get_idx(any, 0), "minimum", -1), 1);
        assert_int_equal(json_get_int(json_object_array_get_idx(any, 0), "maximum", -1), 300);
}

static void a_sites_step_has_its_section(void **state _unused_) {
        _cleanup_json_ json_object *o = NULL;

        assert_int_equal(config_json_schema(ARGV("licence"), &o), 0);
        assert_non_null(schema_of(o, "licence"));
        assert_null(schema_of(o, "other"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(patterns_say_what_the_rules_say),
                cmocka_unit_test(every_key_has_its_place),
                cmocka_unit_test(durations_count_in_seconds),
                cmocka_unit_test(a_sites_step_has_its_section),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
