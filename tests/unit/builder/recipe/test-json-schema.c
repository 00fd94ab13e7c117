/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe/formats.h"
#include "recipe/json-schema.h"
#include "recipe/patterns.h"
#include "recipe/recipe.h"

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

static const struct {
        const char *name;
        schema_check_t check;
} checks[] = {
#define CHECK(f) { #f, f }
        CHECK(value_recipe_name),
        CHECK(value_secret_name),
        CHECK(value_overlay_name),
        CHECK(value_extends),
        CHECK(value_text),
        CHECK(value_image),
        CHECK(value_device),
        CHECK(value_release),
        CHECK(value_component),
        CHECK(value_suite),
        CHECK(value_url),
        CHECK(value_image_path),
        CHECK(value_image_folder),
        CHECK(value_inside),
        CHECK(value_key_reference),
        CHECK(value_source),
        CHECK(value_package),
        CHECK(value_debian_package),
        CHECK(value_kernel_package),
        CHECK(value_base_package),
        CHECK(value_el_package),
        CHECK(value_version),
        CHECK(value_file_name),
        CHECK(value_sha256),
        CHECK(value_fingerprint),
        CHECK(value_module),
        CHECK(value_mode),
        CHECK(value_size),
        CHECK(value_cmdline),
        CHECK(value_kernel_option),
        CHECK(value_host_name),
        CHECK(value_unit),
};

/* Each string is given to every check and to its pattern. */
static const char *const samples[] = {
        "",
        "a",
        "ab",
        "A",
        "-a",
        ".a",
        "a.lock",
        "a..b",
        "a/b",
        "/a",
        "/a/b",
        "/",
        "//",
        "a//b",
        "a/",
        "../a",
        "a/../b",
        "/a/..",
        "./",
        "./a",
        "a b",
        " a",
        "a\nb",
        "a\tb",
        "a\x7f",
        "trixie",
        "non-free-firmware",
        "stable/updates",
        "https://x.example/a",
        "http://x/",
        "file:///a",
        "a:b",
        "json:{}",
        "a b://c",
        "/dev/sda2",
        "/dev/vg/root",
        "/dev/",
        "/dev//sda",
        "btrfsvol:/dev/sda2/@",
        "btrfsvol:/tmp",
        "x/dev/sda",
        "ftp://x/",
        "https://",
        "https://u:p@x/",
        "https://x/a@b",
        "https://x/a b",
        "https://x/../y",
        "imgbuild:firstboot",
        "imgbuild:other",
        "linux-image-amd64",
        "linux-headers-${kernel}",
        "${kernel}",
        "a${kernel}b",
        "kernel-devel-${kernel}",
        "kernel-devel-uname-r = ${kernel}",
        "kernel-devel-uname-r = ${kernel}.x86_64",
        "bash = 5.1",
        "bash = ",
        "bash =5.1",
        "bash = -x",
        "bash = $x",
        "bash = 5.1 = 5.2",
        "bash > 5.1",
        "b = 5.1",
        "NetworkManager",
        "lib_x-1:2.0~rc1-3.el9",
        "A${kernel",
        "libc6:amd64",
        "libc6=2.41-12",
        "libc6:amd64=1:2.41-12",
        "libc6:",
        "nodejs:20-x",
        "nodejs:20:x",
        "nodejs:20/common",
        "nodejs:20/",
        "nodejs:20/a/b",
        "nodejs:/common",
        "nodejs:20/-x",
        "nodejs:/20",
        "libc6=",
        "g++",
        "kernel-devel",
        "Kernel_Devel",
        "1.2~rc1",
        "1:2-3",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
        "0123 4567 89AB CDEF 0123  4567 89AB CDEF 0123 4567",
        "0123456789ABCDEF0123456789ABCDEF0123456",
        "0644",
        "644",
        "0o644",
        "4755",
        "07777",
        "17777",
        "77777",
        "06448",
        "64",
        "8G",
        "8",
        "G8",
        "8g",
        "20480M",
        "1T",
        "8GiB",
        "console=ttyS0,115200 iommu=pt",
        "a;b",
        "a$b",
        "a\"b",
        "a\\b",
        "a{b",
        "a#b",
        "a[b]",
        "quiet",
        "ssh.service",
        "ssh",
        ".service",
        "a@b.service",
        "a\\x2db.mount",
        "a b.service",
        "-.mount",
        "x.device",
        "a^b",
        "a+b.timer",
};

static void patterns_say_what_the_checks_say(void **state _unused_) {
        for (size_t c = 0; c < ELEMENTSOF(checks); c++) {
                const StringPattern *p = schema_pattern_find(checks[c].check);

                if (!p)
                        fail_msg("%s has no pattern", checks[c].name);
                for (size_t i = 0; i < ELEMENTSOF(samples); i++)
                        if (pattern_takes(p, samples[i]) != !checks[c].check(samples[i]))
                                fail_msg("%s and its pattern disagree over \"%s\"", checks[c].name,
                                                samples[i]);
        }
}

static void names_beyond_200_bytes_are_refused(void **state _unused_) {
        char long_name[202];

        memset(long_name, 'a', 201);
        long_name[201] = '\0';
        assert_false(pattern_takes(schema_pattern_find(value_overlay_name), long_name));
        long_name[200] = '\0';
        assert_true(pattern_takes(schema_pattern_find(value_overlay_name), long_name));
}

static void each_checked_string_of_the_tables_has_a_pattern(const Schema *table);

static void look_at(const Schema *s) {
        if (s->check && !schema_pattern_find(s->check))
                fail_msg("%s: its check has no pattern", s->key ? s->key : "an item");
        if (s->check_key && !schema_pattern_find(s->check_key))
                fail_msg("%s: the check of its keys has no pattern", s->key);
        if (s->keys)
                each_checked_string_of_the_tables_has_a_pattern(s->keys);
        if (s->item)
                look_at(s->item);
}

static void each_checked_string_of_the_tables_has_a_pattern(const Schema *table) {
        for (; table->key; table++)
                look_at(table);
}

static void every_check_in_the_tables_has_a_pattern(void **state _unused_) {
        each_checked_string_of_the_tables_has_a_pattern(recipe_keys);
        each_checked_string_of_the_tables_has_a_pattern(overlay_keys);
}

static void a_recipes_schema_has_its_keys(void **state _unused_) {
        _cleanup_json_ json_object *o = NULL;
        json_object *properties;

        assert_int_equal(recipe_json_schema(&o), 0);
        properties = json_get(o, "properties");
        for (const Schema *s = recipe_keys; s->key; s++) {
                assert_non_null(json_get(properties, s->key));
                if (!json_get_string(json_get(properties, s->key), "description"))
                        fail_msg("%s has no description", s->key);
        }
        assert_string_equal(json_object_to_json_string_ext(
                                            json_get(o, "required"), JSON_C_TO_STRING_PLAIN),
                        "[\"name\"]");
        assert_false(json_get_bool(o, "additionalProperties", true));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(patterns_say_what_the_checks_say),
                cmocka_unit_test(names_beyond_200_bytes_are_refused),
                cmocka_unit_test(every_check_in_the_tables_has_a_pattern),
                cmocka_unit_test(a_recipes_schema_has_its_keys),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
