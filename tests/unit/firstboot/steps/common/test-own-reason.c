/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/common/own-reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void our_text_is_known_again(void **state _unused_) {
        _cleanup_free_ char *reason = own_reason("gpu.missing", "7 of 8"), *code = NULL;

        assert_true(own_reason_is_ours(reason, strlen(reason)));
        code = own_reason_code(reason);
        assert_string_equal(code, "gpu.missing");
}

static void a_changed_one_is_somebody_elses(void **state _unused_) {
        _cleanup_free_ char *reason = own_reason("gpu.missing", "7 of 8");

        reason[strlen("[firstboot] gpu.missing: ")] = '6';
        assert_false(own_reason_is_ours(reason, strlen(reason)));
        assert_null(own_reason_code(reason));
        assert_null(own_reason_code(NULL));
        assert_null(own_reason_code(""));
        assert_null(own_reason_code("[firstboot] a"));
}

/* What is cut within a character would be no JSON any more. */
static void a_long_text_is_cut_between_characters(void **state _unused_) {
        for (unsigned shift = 0; shift < 4; shift++) {
                char text[400] = "";
                _cleanup_free_ char *reason = NULL;
                size_t n;

                memset(text, 'a', shift);
                while (strlen(text) < 300)
                        strcat(text, "\xe2\x82\xac"); /* € */
                reason = own_reason("a.b", text);
                n = strlen(reason) - OWN_SUM_LENGTH;
                assert_true(n <= 200 && n >= 200 - OWN_SUM_LENGTH - 3);
                assert_memory_equal(reason + n - 3, "\xe2\x82\xac", 3);
                assert_true(own_reason_is_ours(reason, strlen(reason)));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(our_text_is_known_again),
                cmocka_unit_test(a_changed_one_is_somebody_elses),
                cmocka_unit_test(a_long_text_is_cut_between_characters),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
