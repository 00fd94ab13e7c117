/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shared/suggest.h"

#define WORDS(...) ((char *const[]) { __VA_ARGS__, NULL })

static void distance_counts_changes(void **state _unused_) {
        static const struct {
                const char *a, *b;
                unsigned distance;
        } cases[] = {
                { "", "", 0 },
                { "abc", "abc", 0 },
                { "abc", "abd", 1 },
                { "abc", "ab", 1 },
                { "abc", "xabc", 1 },
                { "kitten", "sitting", 3 },
                { "pacakges", "packages", 1 },
                { "ABC", "abc", 0 },
                { "", "abcd", 4 },
                { "ca", "abc", 3 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(suggest_distance(cases[i].a, cases[i].b), cases[i].distance);
                assert_int_equal(suggest_distance(cases[i].b, cases[i].a), cases[i].distance);
        }
}

static void a_very_long_word_is_far_from_all(void **state _unused_) {
        char word[10000];

        memset(word, 'a', sizeof(word));
        word[sizeof(word) - 1] = '\0';
        assert_int_equal(suggest_distance(word, "a"), UINT_MAX);
        assert_null(suggest_nearest(word, WORDS("a", "b")));
}

static void the_nearest_wins(void **state _unused_) {
        assert_string_equal(suggest_nearest("overlys", WORDS("kernel", "overlay", "overlays")),
                        "overlays");
        assert_string_equal(suggest_nearest("Kernel", WORDS("kernel", "overlays")), "kernel");
}

static void the_first_of_equals_wins(void **state _unused_) {
        assert_string_equal(suggest_nearest("bat", WORDS("cat", "hat")), "cat");
}

static void nothing_near_is_no_suggestion(void **state _unused_) {
        assert_null(suggest_nearest("frobnicate", WORDS("kernel", "overlays")));
        assert_null(suggest_nearest("x", WORDS("kernel")));
        assert_null(suggest_nearest("kernel", NULL));
}

static void a_beginning_is_a_suggestion(void **state _unused_) {
        assert_string_equal(suggest_nearest("nvidia", WORDS("kernel", "nvidia-driver")),
                        "nvidia-driver");
}

static void the_text_goes_behind_a_message(void **state _unused_) {
        _cleanup_free_ char *some = suggest_text("kernle", WORDS("kernel")),
                            *none = suggest_text("z", WORDS("kernel"));

        assert_string_equal(some, "; did you mean \"kernel\"?");
        assert_string_equal(none, "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(distance_counts_changes),
                cmocka_unit_test(a_very_long_word_is_far_from_all),
                cmocka_unit_test(the_nearest_wins),
                cmocka_unit_test(the_first_of_equals_wins),
                cmocka_unit_test(nothing_near_is_no_suggestion),
                cmocka_unit_test(a_beginning_is_a_suggestion),
                cmocka_unit_test(the_text_goes_behind_a_message),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
