/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/checksums.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define ONE "1111111111111111111111111111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222222222222222222222222222"

static void assert_found(const char *list, const char *sha256, const char *sha512) {
        Checksums c;

        assert_int_equal(checksums_find(list, "a.qcow2", &c), 0);
        assert_string_equal(c.sha256, sha256);
        assert_string_equal(c.sha512, sha512);
}

static void assert_absent(const char *list, size_t others) {
        Checksums c;

        assert_int_equal(checksums_find(list, "a.qcow2", &c), -ENOENT);
        assert_int_equal(c.n, others);
}

static void coreutils_lines(void **state _unused_) {
        assert_found(TWO "  b.qcow2\n" ONE "  a.qcow2\n", ONE, "");
        assert_found(ONE " *a.qcow2\n", ONE, "");
        assert_found(ONE "  a.qcow2", ONE, "");
        assert_found(ONE "  a.qcow2\r\n", ONE, "");
}

static void bsd_lines(void **state _unused_) {
        assert_found("# a.qcow2: 7 bytes\nSHA256 (a.qcow2) = " ONE "\n", ONE, "");
        assert_found("SHA512 (a.qcow2) = " ONE TWO "\n", "", ONE TWO);
}

static void sha512_is_told_by_its_length(void **state _unused_) {
        assert_found(ONE TWO "  a.qcow2\n" ONE "  a.qcow2\n", ONE, ONE TWO);
}

static void hex_is_lower_case_whatever_the_list_has(void **state _unused_) {
        assert_found("ABCDEF1111111111111111111111111111111111111111111111111111111111  a.qcow2\n",
                        "abcdef1111111111111111111111111111111111111111111111111111111111", "");
}

static void a_folder_in_front_of_the_name_does_not_count(void **state _unused_) {
        assert_found(ONE "  ./a.qcow2\n", ONE, "");
        assert_found("SHA256 (x86_64/a.qcow2) = " ONE "\n", ONE, "");
}

static void a_name_that_only_ends_so_is_another(void **state _unused_) {
        assert_absent(ONE "  xa.qcow2\n", 1);
        assert_absent(ONE "  a.qcow2.sig\n", 1);
        assert_absent("SHA256 (xa.qcow2) = " ONE "\n", 1);
}

static void a_parenthesis_in_a_name_ends_nothing(void **state _unused_) {
        assert_absent("SHA256 (a.qcow2) = " ONE ") = " TWO "\n", 1);
}

static void digests_of_other_kinds_do_not_count(void **state _unused_) {
        assert_absent("11111111111111111111111111111111  a.qcow2\nMD5 (a.qcow2) = 1111\n", 0);
        assert_absent("SHA256 (a.qcow2) = 11111111111111111111111111111111\n", 0);
        assert_absent("1" ONE "  a.qcow2\n", 0);
}

static void the_same_twice_is_one(void **state _unused_) {
        assert_found(ONE "  a.qcow2\n" ONE " *x/a.qcow2\n", ONE, "");
}

static void two_that_differ_are_none(void **state _unused_) {
        Checksums c;

        assert_int_equal(checksums_find(ONE "  x/a.qcow2\n" TWO "  y/a.qcow2\n", "a.qcow2", &c),
                        -EEXIST);
}

static void an_empty_list_has_none(void **state _unused_) {
        assert_absent("", 0);
        assert_absent("\n\n", 0);
        assert_absent("SHA256 (", 0);
        assert_absent("SHA256 () = " ONE, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(coreutils_lines),
                cmocka_unit_test(bsd_lines),
                cmocka_unit_test(sha512_is_told_by_its_length),
                cmocka_unit_test(hex_is_lower_case_whatever_the_list_has),
                cmocka_unit_test(a_folder_in_front_of_the_name_does_not_count),
                cmocka_unit_test(a_name_that_only_ends_so_is_another),
                cmocka_unit_test(a_parenthesis_in_a_name_ends_nothing),
                cmocka_unit_test(digests_of_other_kinds_do_not_count),
                cmocka_unit_test(the_same_twice_is_one),
                cmocka_unit_test(two_that_differ_are_none),
                cmocka_unit_test(an_empty_list_has_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
