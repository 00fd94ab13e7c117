/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "recipe/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const char *yaml, const char *json) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        assert_int_equal(yaml_parse(yaml, strlen(yaml), &e, &o), 0);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), json);
}

static void refuse(const char *yaml, unsigned line) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        assert_int_equal(yaml_parse(yaml, strlen(yaml), &e, &o), -EINVAL);
        assert_int_equal(e.line, line);
        assert_true(strlen(e.message) > 0);
}

static void plain_scalars_have_types(void **state) {
        (void) state;
        expect("[1, -2, 0755, 0x1F, 0b101, 1_000, 1:30]", "[1,-2,493,31,5,1000,90]");
        expect("[yes, No, on, OFF, true, y]", "[true,false,true,false,true,\"y\"]");
        expect("[~, null, Null, 1.5, 1e3, 0o4]", "[null,null,null,1.5,\"1e3\",\"0o4\"]");
}

static void quoted_scalars_are_text(void **state) {
        (void) state;
        expect("['1', \"yes\", '']", "[\"1\",\"yes\",\"\"]");
        expect("a: |\n  1\n", "{\"a\":\"1\\n\"}");
}

static void merge_keys_give_way(void **state) {
        (void) state;
        expect("x: &x {a: 1, b: 2}\ny: {<<: *x, a: 3}",
                        "{\"x\":{\"a\":1,\"b\":2},\"y\":{\"a\":3,\"b\":2}}");
}

static void faults_have_their_line(void **state) {
        (void) state;
        refuse("a: 1\nb: ]\n", 2);
        refuse("a: 1\n? [x]\n: 2\n", 2);
        refuse("a: &a [*a]\n", 1);
}

static void aliases_do_not_grow_without_end(void **state) {
        char text[2000];
        size_t n;

        (void) state;
        n = (size_t) snprintf(text, sizeof(text), "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for (int i = 1; i < 9; i++)
                n += (size_t) snprintf(text + n, sizeof(text) - n,
                                "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n",
                                i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
                                i - 1);
        refuse(text, 1);
}

static void nothing_is_nothing(void **state) {
        (void) state;
        json_object *o = NULL;
        JsonError e = {};

        assert_int_equal(yaml_parse("# c\n", 4, &e, &o), 0);
        assert_null(o);
}

/* 100,000 letters, a thousand times: as a value, and as a key. */
static void aliases_do_not_multiply_long_texts(void **state) {
        static const char *const uses[] = { "*a,", "{*a : 1}," };
        _cleanup_free_ char *letters = malloc(100001);

        (void) state;
        memset(letters, 'x', 100000);
        letters[100000] = '\0';
        for (size_t i = 0; i < ELEMENTSOF(uses); i++) {
                _cleanup_free_ char *text = NULL;
                size_t size;
                FILE *f = open_memstream(&text, &size);

                fprintf(f, "a: &a %s\nb: [", letters);
                for (size_t n = 0; n < 1000; n++)
                        fputs(uses[i], f);
                fputs("]\n", f);
                fclose(f);
                refuse(text, 1);
        }
}

/* libyaml alone takes minutes and gigabytes for this. */
static void a_megabyte_of_brackets_is_refused_at_once(void **state) {
        static const char *const opening[] = { "[", "{a: ", "- " };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(opening); i++) {
                _cleanup_free_ char *text = NULL;
                size_t size;
                FILE *f = open_memstream(&text, &size);

                for (size_t n = 0; n < 300000; n++)
                        fputs(opening[i], f);
                fclose(f);
                refuse(text, 1);
        }
}

static void a_number_that_is_too_large_is_the_largest(void **state) {
        (void) state;
        expect("[1:00:00:00:00:00:00:00:00:00:00:00, -1:00:00:00:00:00:00:00:00:00:00:00]",
                        "[9223372036854775807,-9223372036854775807]");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(plain_scalars_have_types),
                cmocka_unit_test(quoted_scalars_are_text),
                cmocka_unit_test(merge_keys_give_way),
                cmocka_unit_test(faults_have_their_line),
                cmocka_unit_test(aliases_do_not_grow_without_end),
                cmocka_unit_test(aliases_do_not_multiply_long_texts),
                cmocka_unit_test(a_megabyte_of_brackets_is_refused_at_once),
                cmocka_unit_test(a_number_that_is_too_large_is_the_largest),
                cmocka_unit_test(nothing_is_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
