/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a host without KVM is told. */

#include "common/kvm-guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void missing_device_is_not_usable(void **state _unused_) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(kvm_run_tiny_guest("/nonexistent/kvm", USEC_PER_SEC, &why), 0);
        assert_non_null(strstr(why, "no /dev/kvm"));
}

static void device_that_is_no_kvm_is_not_usable(void **state _unused_) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(kvm_run_tiny_guest("/dev/null", USEC_PER_SEC, &why), 0);
        assert_non_null(why);
}

static void a_device_that_is_not_there_is_said_so(void **state _unused_) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(kvm_device_check("/nonexistent/kvm", &why), 0);
        assert_non_null(strstr(why, "no /dev/kvm"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(missing_device_is_not_usable),
                cmocka_unit_test(device_that_is_no_kvm_is_not_usable),
                cmocka_unit_test(a_device_that_is_not_there_is_said_so),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
