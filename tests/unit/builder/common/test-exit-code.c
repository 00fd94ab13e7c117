/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What scripts rely on: the numbers of imgbuild(1), and which kind of error each stands for. */

#include "common/exit-code.h"
#include "shared/macro.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void the_numbers_are_the_manuals(void **state _unused_) {
        assert_int_equal(EXIT_OK, 0);
        assert_int_equal(EXIT_FAILED, 1);
        assert_int_equal(EXIT_USAGE, 2);
        assert_int_equal(EXIT_BAD_INPUT, 3);
        assert_int_equal(EXIT_FETCH, 4);
        assert_int_equal(EXIT_HOST, 5);
        assert_int_equal(EXIT_TIMED_OUT, 124);
        assert_int_equal(EXIT_INTERRUPTED, 130);
}

static void each_kind_of_error_has_its_code(void **state _unused_) {
        static const struct {
                int error, code;
        } cases[] = {
                { 0, EXIT_OK },
                { 7, EXIT_OK },
                { -EINVAL, EXIT_BAD_INPUT },
                { -EBADMSG, EXIT_FETCH },
                { -ENETUNREACH, EXIT_FETCH },
                { -EREMOTEIO, EXIT_FETCH },
                { -ENOSPC, EXIT_HOST },
                { -EPERM, EXIT_HOST },
                { -ENOPKG, EXIT_HOST },
                { -ETIMEDOUT, EXIT_TIMED_OUT },
                { -ECANCELED, EXIT_INTERRUPTED },
                { -EIO, EXIT_FAILED },
                { -ENOMEM, EXIT_FAILED },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(exit_code_from_errno(cases[i].error), cases[i].code);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_numbers_are_the_manuals),
                cmocka_unit_test(each_kind_of_error_has_its_code),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
