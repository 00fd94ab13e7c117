/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stage/rpm-bdb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define PAGE 512

/* A file of two pages: what says which it is, and one with two items. */
static void make(uint8_t file[static 2 * PAGE], uint32_t magic, uint8_t page_type) {
        memset(file, 0, 2 * PAGE);
        memcpy(file + 12, &magic, 4);
        file[16] = 9;
        file[21] = PAGE >> 8;
        memset(file + 52, 0x55, 20); /* its identity */
        file[PAGE + 20] = 2;
        file[PAGE + 25] = page_type;
        file[PAGE + 26] = 100;
        file[PAGE + 28] = 200;
}

static void padding_of_a_hash_is_zero(void **state _unused_) {
        uint8_t file[2 * PAGE];

        make(file, 0x061561, 13);
        memcpy(file + PAGE + 100, (uint8_t[]) { 3, 0xaa, 0xbb, 0xcc, 7 }, 5);
        memcpy(file + PAGE + 200, (uint8_t[]) { 1, 'k', 'e', 'y' }, 4); /* a key that is there */
        assert_true(rpm_bdb_settle(file, sizeof(file), "Packages"));
        assert_memory_equal(file + PAGE + 100, ((uint8_t[]) { 3, 0, 0, 0, 7 }), 5);
        assert_memory_equal(file + PAGE + 200, "\1key", 4);
}

static void padding_of_a_tree_is_zero(void **state _unused_) {
        uint8_t file[2 * PAGE];

        make(file, 0x053162, 5);
        memcpy(file + PAGE + 100, (uint8_t[]) { 0xaa, 0xbb, 0x83, 0xcc, 7 }, 5);
        memcpy(file + PAGE + 200, (uint8_t[]) { 1, 0, 1, 'x' }, 4); /* "x", one byte long */
        assert_true(rpm_bdb_settle(file, sizeof(file), "Name"));
        assert_memory_equal(file + PAGE + 100, ((uint8_t[]) { 0, 0, 0x83, 0, 7 }), 5);
        assert_memory_equal(file + PAGE + 200, ((uint8_t[]) { 1, 0, 1, 'x' }), 4);

        make(file, 0x053162, 3);
        memcpy(file + PAGE + 100,
                        (uint8_t[]) { 12, 0, 3, 0xcc, 9, 0, 0, 0, 1, 0, 0, 0, 0xaa, 0xbb, 3, 0xdd,
                                        7 },
                        17);
        assert_true(rpm_bdb_settle(file, sizeof(file), "Name"));
        assert_memory_equal(file + PAGE + 100,
                        ((uint8_t[]) { 12, 0, 3, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 7 }), 17);
}

static void two_that_were_made_alike_are_the_same_bytes(void **state _unused_) {
        uint8_t one[2 * PAGE], two[2 * PAGE];

        make(one, 0x061561, 13);
        make(two, 0x061561, 13);
        memset(two + 52, 0x77, 20);
        memcpy(one + PAGE + 100, (uint8_t[]) { 4, 1, 2, 3 }, 4);
        memcpy(two + PAGE + 100, (uint8_t[]) { 4, 9, 9, 9 }, 4);
        assert_true(rpm_bdb_settle(one, sizeof(one), "Packages"));
        assert_true(rpm_bdb_settle(two, sizeof(two), "Packages"));
        assert_memory_equal(one, two, sizeof(one));
        assert_true(rpm_bdb_settle(two, sizeof(two), "Name"));
        assert_memory_not_equal(
                        one, two, sizeof(one)); /* no two files of a folder are the same one */
}

static void what_is_none_stays_as_it_is(void **state _unused_) {
        uint8_t file[2 * PAGE], before[2 * PAGE];

        for (unsigned i = 0; i < 5; i++) {
                make(file, 0x061561, 13);
                file[PAGE + 100] = 3;
                file[PAGE + 101] = 0xaa;
                if (i == 0)
                        file[12] = 'S'; /* SQLite, say */
                else if (i == 1)
                        file[16] = 11; /* of a time to come */
                else if (i == 2)
                        file[24] = 1; /* encrypted */
                else if (i == 3)
                        file[26] = 1; /* with checksums */
                else
                        file[20] = 1; /* 513 bytes a page */
                memcpy(before, file, sizeof(file));
                assert_false(rpm_bdb_settle(file, sizeof(file), "Packages"));
                assert_memory_equal(file, before, sizeof(file));
        }
        assert_false(rpm_bdb_settle(file, 71, "Packages"));
}

static void an_item_outside_its_page_is_none(void **state _unused_) {
        uint8_t file[2 * PAGE + 16];

        memset(file + 2 * PAGE, 3, 16);
        make(file, 0x061561, 13);
        file[PAGE + 20] = file[PAGE + 21] = 0xff; /* 65535 items */
        file[PAGE + 26] = 0xff;
        file[PAGE + 27] = 1; /* at 511, with one byte of the page left */
        file[PAGE + 28] = 1; /* in the page's header */
        file[PAGE + 1] = 3;
        assert_true(rpm_bdb_settle(file, 2 * PAGE, "Packages"));
        assert_int_equal(file[PAGE + 1], 3);
        for (size_t i = 0; i < 16; i++)
                assert_int_equal(file[2 * PAGE + i], 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(padding_of_a_hash_is_zero),
                cmocka_unit_test(padding_of_a_tree_is_zero),
                cmocka_unit_test(two_that_were_made_alike_are_the_same_bytes),
                cmocka_unit_test(what_is_none_stays_as_it_is),
                cmocka_unit_test(an_item_outside_its_page_is_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
