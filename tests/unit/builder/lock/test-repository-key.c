/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/internal.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char path[] = "/tmp/imgbuild-key-XXXXXX";

static int setup(void **state) {
        int fd = mkstemp(path);

        (void) state;
        return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state) {
        (void) state;
        return unlink(path);
}

static void test_every_length_survives(void **state) {
        char key[] = "\x98\x00 any\xff bytes\n";

        (void) state;
        for (size_t size = 1; size < sizeof(key); size++) {
                _cleanup_free_ char *text = NULL, *back = NULL;
                size_t size_back;

                assert_int_equal(write_file_atomic(path, key, size, 0644), 0);
                assert_int_equal(key_to_text(path, &text), 0);
                assert_int_equal(locked_key_write(&(LockedOrigin) { .key = text }, path), 0);
                assert_int_equal(read_file(path, 100, &back, &size_back), 0);
                assert_int_equal(size_back, size);
                assert_memory_equal(back, key, size);
        }
}

static void test_text_that_is_no_key(void **state) {
        (void) state;
        assert_int_equal(locked_key_write(&(LockedOrigin) { .key = (char *) "?" }, path), -EINVAL);
        assert_int_equal(locked_key_write(&(LockedOrigin) { .key = (char *) "abcde" }, path),
                        -EINVAL);
        assert_int_equal(locked_key_write(&(LockedOrigin) {}, path), -EINVAL);
}

/* The sum of these nine bytes is the CRC's own example: 21cf02. */
static void test_armour_ends_with_its_sum(void **state) {
        _cleanup_free_ char *text = NULL;

        (void) state;
        assert_int_equal(locked_key_armour(
                                         &(LockedOrigin) { .key = (char *) "MTIzNDU2Nzg5" }, &text),
                        0);
        assert_string_equal(text,
                        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nMTIzNDU2Nzg5\n=Ic8C\n-----END PGP PUBLIC KEY BLOCK-----\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_length_survives),
                cmocka_unit_test(test_text_that_is_no_key),
                cmocka_unit_test(test_armour_ends_with_its_sum),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
