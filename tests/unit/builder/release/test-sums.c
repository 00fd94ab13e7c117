/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "release-fixture.h"

#include "release/sums.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static int parse(const char *text) {
        _cleanup_sums_ Sums s = {};

        return sums_parse(text, strlen(text), &s);
}

static void test_what_is_written_is_read_back(void **state _unused_) {
        const char *text = A "  one\n" B "  two words\n";
        _cleanup_sums_ Sums s = {};
        _cleanup_free_ char *again = NULL;

        assert_int_equal(sums_parse(text, strlen(text), &s), 0);
        assert_int_equal(s.n, 2);
        assert_string_equal(sums_find(&s, "two words")->digest, B);
        assert_null(sums_find(&s, "three"));
        again = sums_format(&s);
        assert_string_equal(again, text);
}

static void test_only_one_spelling_is_a_list(void **state _unused_) {
        static const char *const bad[] = {
                "",
                "\n",
                A "  x",   /* no newline */
                A " x\n",  /* one space */
                A " *x\n", /* of sha256sum -b */
                A "  \n",  /* no name */
                "A"
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                "  x\n",
                "aa  x\n",
                A "  x\n" B "  x\n", /* a name twice */
                A "  x\n\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                if (parse(bad[i]) != -EBADMSG)
                        fail_msg("taken for a list: %s", bad[i]);
        assert_int_equal(parse(A "  x\n"), 0);
}

static void test_no_name_leads_out_of_the_folder(void **state _unused_) {
        static const char *const bad[] = { "", ".", "..", "../x", "/etc/passwd", "a/b", ".hidden",
                "a\nb", "a\\b" };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                if (sums_name_valid(bad[i]))
                        fail_msg("taken for a name: %s", bad[i]);
        assert_true(sums_name_valid("x.qcow2"));
        assert_int_equal(parse(A "  ../x\n"), -EBADMSG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_written_is_read_back),
                cmocka_unit_test(test_only_one_spelling_is_a_list),
                cmocka_unit_test(test_no_name_leads_out_of_the_folder),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
