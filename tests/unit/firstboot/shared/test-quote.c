/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared/quote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void a_shell_reads_the_word_again(void **state _unused_) {
        static const struct {
                const char *word, *quoted;
        } cases[] = {
                { "", "''" },
                { "plain", "'plain'" },
                { "two words; $(id) `id` \"x\" \\", "'two words; $(id) `id` \"x\" \\'" },
                { "it's", "'it'\\''s'" },
                { "''", "''\\'''\\'''" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *quoted = shell_quote(cases[i].word);

                assert_string_equal(quoted, cases[i].quoted);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_shell_reads_the_word_again),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
