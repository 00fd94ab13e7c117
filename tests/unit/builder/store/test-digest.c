/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/digest.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

static char folder[] = "/tmp/test-digest-XXXXXX";

static void put(const char *name, const char *text, mode_t mode) {
        _cleanup_free_ char *path = path_join(folder, name);

        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), mode), 0);
}

static int setup(void **state) {
        (void) state;
        strcpy(folder, "/tmp/test-digest-XXXXXX");
        if (!mkdtemp(folder))
                return -1;
        put("a/one", "1", 0644);
        put("two", "2", 0755);
        _cleanup_free_ char *link = path_join(folder, "link");
        return symlink("two", link);
}

static int teardown(void **state) {
        (void) state;
        return rm_rf(folder);
}

static void known_value(void **state) {
        Digest d;
        uint64_t size;
        _cleanup_free_ char *path = path_join(folder, "abc");

        (void) state;
        put("abc", "abc", 0644);
        assert_int_equal(digest_file(path, d, &size), 0);
        /* FIPS 180-2, appendix B.1 */
        assert_string_equal(d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_int_equal(size, 3);
}

static void fields_do_not_run_together(void **state) {
        _cleanup_hash_free_ Hash *a = NULL, *b = NULL;
        Digest x, y;

        (void) state;
        assert_int_equal(hash_new(&a), 0);
        assert_int_equal(hash_new(&b), 0);
        hash_field(a, "k", "ab");
        hash_field(a, "k", "c");
        hash_field(b, "k", "a");
        hash_field(b, "k", "bc");
        hash_end(a, x);
        hash_end(b, y);
        assert_string_not_equal(x, y);
}

static void null_field_is_not_empty_field(void **state) {
        _cleanup_hash_free_ Hash *a = NULL, *b = NULL;
        Digest x, y;

        (void) state;
        assert_int_equal(hash_new(&a), 0);
        assert_int_equal(hash_new(&b), 0);
        hash_field(a, "k", NULL);
        hash_field(b, "k", "");
        hash_end(a, x);
        hash_end(b, y);
        assert_string_not_equal(x, y);
}

static void tree_ignores_times_and_umask(void **state) {
        Digest before, after;
        _cleanup_free_ char *one = path_join(folder, "a/one");

        (void) state;
        assert_int_equal(digest_tree(folder, before), 0);
        assert_int_equal(chmod(one, 0600), 0);
        assert_int_equal(digest_tree(folder, after), 0);
        assert_string_equal(before, after);
}

static void tree_sees_content(void **state) {
        Digest before, after;

        (void) state;
        assert_int_equal(digest_tree(folder, before), 0);
        put("a/one", "I", 0644);
        assert_int_equal(digest_tree(folder, after), 0);
        assert_string_not_equal(before, after);
}

static void tree_sees_executable_bit(void **state) {
        Digest before, after;

        (void) state;
        assert_int_equal(digest_tree(folder, before), 0);
        put("a/one", "1", 0755);
        assert_int_equal(digest_tree(folder, after), 0);
        assert_string_not_equal(before, after);
}

static void tree_sees_link_target(void **state) {
        Digest before, after;
        _cleanup_free_ char *link = path_join(folder, "link");

        (void) state;
        assert_int_equal(digest_tree(folder, before), 0);
        assert_int_equal(unlink(link), 0);
        assert_int_equal(symlink("a", link), 0);
        assert_int_equal(digest_tree(folder, after), 0);
        assert_string_not_equal(before, after);
}

static void tree_sees_names(void **state) {
        Digest before, after;
        _cleanup_free_ char *two = path_join(folder, "two"), *three = path_join(folder, "three");

        (void) state;
        assert_int_equal(digest_tree(folder, before), 0);
        assert_int_equal(rename(two, three), 0);
        assert_int_equal(digest_tree(folder, after), 0);
        assert_string_not_equal(before, after);
}

static void tree_refuses_fifo(void **state) {
        Digest d;
        _cleanup_free_ char *fifo = path_join(folder, "fifo");

        (void) state;
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(digest_tree(folder, d), -EINVAL);
}

static void valid_is_lower_case_hex(void **state) {
        (void) state;
        assert_true(digest_valid(
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        assert_false(digest_valid(
                        "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        assert_false(digest_valid("ba78"));
        assert_false(digest_valid(NULL));
}

/* FIPS 180-4's example. */
static void known_value_of_sha512(void **state) {
        char d[DIGEST_SHA512_HEX + 1];
        _cleanup_free_ char *path = path_join(folder, "abc"), *missing = path_join(folder, "none");

        (void) state;
        put("abc", "abc", 0644);
        assert_int_equal(digest_file_sha512(path, d), 0);
        assert_string_equal(d, "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                               "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
        assert_int_equal(digest_file_sha512(missing, d), -ENOENT);
}

/* What sha512sum says of so many zeros. */
static void a_hole_is_zeros_for_sha512(void **state) {
        char d[DIGEST_SHA512_HEX + 1];
        _cleanup_free_ char *path = path_join(folder, "hole");

        (void) state;
        put("hole", "", 0644);
        assert_int_equal(truncate(path, 3 << 20), 0);
        assert_int_equal(digest_file_sha512(path, d), 0);
        assert_string_equal(d, "37a33d86aa47380aa21b17b41dfc8d04f464de7e71820900397436d0916e91b3"
                               "53f184cefe0ad16ae7902f0128aae786d78f14b58beee0c46d583cf1bfd557b8");
}

/* What is written at these places, of a file of so many bytes, and the same file without holes. */
static void same_without_holes(const off_t *places, size_t n, off_t size) {
        _cleanup_free_ char *sparse = path_join(folder, "sparse"),
                            *dense = path_join(folder, "dense"), *all = calloc(1, (size_t) size);
        Digest of_sparse, of_dense;
        uint64_t bytes;
        struct stat st;
        int fd = open(sparse, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        assert_true(fd >= 0 && all);
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(pwrite(fd, "x", 1, places[i]), 1);
                all[places[i]] = 'x';
        }
        assert_int_equal(ftruncate(fd, size), 0);
        assert_int_equal(fstat(fd, &st), 0);
        if (st.st_blocks * 512 >= size)
                skip(); /* a file system without holes */
        assert_int_equal(write_file_atomic(dense, all, (size_t) size, 0600), 0);

        assert_int_equal(digest_fd(fd, of_sparse, &bytes), 0);
        assert_int_equal(bytes, size);
        assert_int_equal(digest_file(dense, of_dense, NULL), 0);
        assert_string_equal(of_sparse, of_dense);
        close(fd);
}

static void a_hole_at_the_start_is_zeros(void **state) {
        (void) state;
        same_without_holes((const off_t[]) { 3 << 20 }, 1, (3 << 20) + 1);
}

static void holes_between_data_are_zeros(void **state) {
        (void) state;
        same_without_holes((const off_t[]) { 0, 1 << 20, (2 << 20) + 7 }, 3, (2 << 20) + 8);
}

static void a_hole_at_the_end_is_zeros(void **state) {
        (void) state;
        same_without_holes((const off_t[]) { 5 }, 1, (4 << 20) + 13);
}

static void a_file_of_nothing_but_a_hole_is_zeros(void **state) {
        (void) state;
        same_without_holes(NULL, 0, (1 << 20) + 1);
}

/* As where a caller has read the head already. */
static void a_sparse_file_counts_from_its_position(void **state) {
        (void) state;
        _cleanup_free_ char *path = path_join(folder, "sparse"), *zeros = calloc(1, 1 << 20);
        _cleanup_hash_free_ Hash *h = NULL;
        Digest d, expected;
        uint64_t size;
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        assert_true(fd >= 0 && zeros);
        assert_int_equal(ftruncate(fd, 2 << 20), 0);
        assert_int_equal(lseek(fd, 1 << 20, SEEK_SET), 1 << 20);
        assert_int_equal(digest_fd(fd, d, &size), 0);
        assert_int_equal(size, 1 << 20);
        assert_int_equal(hash_new(&h), 0);
        hash_bytes(h, zeros, 1 << 20);
        hash_end(h, expected);
        assert_string_equal(d, expected);
        close(fd);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(known_value, setup, teardown),
                cmocka_unit_test_setup_teardown(known_value_of_sha512, setup, teardown),
                cmocka_unit_test_setup_teardown(a_hole_is_zeros_for_sha512, setup, teardown),
                cmocka_unit_test_setup_teardown(a_hole_at_the_start_is_zeros, setup, teardown),
                cmocka_unit_test_setup_teardown(holes_between_data_are_zeros, setup, teardown),
                cmocka_unit_test_setup_teardown(a_hole_at_the_end_is_zeros, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_file_of_nothing_but_a_hole_is_zeros, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_sparse_file_counts_from_its_position, setup, teardown),
                cmocka_unit_test(fields_do_not_run_together),
                cmocka_unit_test(null_field_is_not_empty_field),
                cmocka_unit_test_setup_teardown(tree_ignores_times_and_umask, setup, teardown),
                cmocka_unit_test_setup_teardown(tree_sees_content, setup, teardown),
                cmocka_unit_test_setup_teardown(tree_sees_executable_bit, setup, teardown),
                cmocka_unit_test_setup_teardown(tree_sees_link_target, setup, teardown),
                cmocka_unit_test_setup_teardown(tree_sees_names, setup, teardown),
                cmocka_unit_test_setup_teardown(tree_refuses_fifo, setup, teardown),
                cmocka_unit_test(valid_is_lower_case_hex),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
