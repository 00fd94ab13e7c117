/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "check-fixture.h"

#include <fcntl.h>

static int read_info(const char *path, ModuleInfo *ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        return module_info_read(fd, ret);
}

static void assert_info(const char *path) {
        ModuleInfo m = {};

        assert_int_equal(read_info(path, &m), 0);
        assert_string_equal(m.name, "nvidia");
        assert_string_equal(m.version, DRIVER);
        assert_string_equal(m.vermagic, MAGIC);
        module_info_done(&m);
}

static void test_plain(void **state _unused_) {
        put_module("a.ko", "nvidia", DRIVER, MAGIC);
        assert_info("a.ko");
}

static void test_compressed(void **state _unused_) {
        static const struct {
                const char *path;
                int filter;
        } kinds[] = { { "a.ko.xz", ARCHIVE_FILTER_XZ }, { "a.ko.zst", ARCHIVE_FILTER_ZSTD },
                { "a.ko.gz", ARCHIVE_FILTER_GZIP } };

        put_module("a.ko", "nvidia", DRIVER, MAGIC);
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                compress_file("a.ko", kinds[i].path, kinds[i].filter);
                assert_info(kinds[i].path);
        }
}

static void test_no_version(void **state _unused_) {
        ModuleInfo m = {};

        put_module("a.ko", "dummy", NULL, MAGIC);
        assert_int_equal(read_info("a.ko", &m), 0);
        assert_null(m.version);
        assert_string_equal(m.name, "dummy");
        module_info_done(&m);
}

/* Wherever the section falls among the pieces that are read. */
static void test_any_offset(void **state _unused_) {
        static const size_t offsets[] = { 60 * 1024, 127 * 1024 + 900, 128 * 1024 - 70, 128 * 1024,
                192 * 1024 - 40, 700 * 1024 };

        for (size_t i = 0; i < ELEMENTSOF(offsets); i++) {
                size_t size = offsets[i] + 4096, n = offsets[i];
                _cleanup_free_ char *data = calloc(1, size);

                for (size_t k = 0; k < n - 8; k++)
                        data[k] = (char) (k * 7 + 1);
                n += (size_t) sprintf(data + n, "version=%s", DRIVER) + 1;
                n += (size_t) sprintf(data + n, "name=nvidia") + 1;
                n += (size_t) sprintf(data + n, "vermagic=%s", MAGIC) + 1;
                put_elf("a.ko", ".modinfo", data, size);
                assert_info("a.ko");
        }
}

/* "version=" elsewhere in the module is not the module's. */
static void test_only_the_section(void **state _unused_) {
        char data[4096] = {};
        size_t n = 100;

        n += (size_t) sprintf(data + n, "version=wrong") + 1;
        n += (size_t) sprintf(data + n, "a sentence that ends the run") + 1;
        n += (size_t) sprintf(data + n, "version=%s", DRIVER) + 1;
        n += (size_t) sprintf(data + n, "name=nvidia") + 1;
        n += (size_t) sprintf(data + n, "vermagic=%s", MAGIC) + 1;
        n += (size_t) sprintf(data + n, "no pair") + 1;
        n += (size_t) sprintf(data + n, "name=wrong") + 1;
        put_elf("a.ko", ".modinfo", data, n);
        assert_info("a.ko");
}

static void assert_bad(const char *path) {
        ModuleInfo m = {};
        assert_int_equal(read_info(path, &m), -EBADMSG);
        assert_null(m.name);
}

static void test_no_module(void **state _unused_) {
        put("text.ko", "vermagic=6.12 is only text");
        assert_bad("text.ko");
        put("empty.ko", "");
        assert_bad("empty.ko");
        put_elf("object.ko", ".text", "code", 4);
        assert_bad("object.ko");
}

static void test_truncated(void **state _unused_) {
        put_module("a.ko", "nvidia", DRIVER, MAGIC);
        compress_file("a.ko", "a.ko.xz", ARCHIVE_FILTER_XZ);
        assert_int_equal(truncate("a.ko.xz", 100), 0);
        assert_bad("a.ko.xz");
}

static int count(const char *s _unused_, void *userdata) {
        (*(size_t *) userdata)++;
        return 0;
}

static void test_section_strings(void **state _unused_) {
        static const char data[] = "\0short\0long enough\0\x01\x02longer still";
        _cleanup_close_ int fd = -EBADF;
        size_t n = 0;

        put_elf("a.so", ".rodata", data, sizeof(data));
        fd = open("a.so", O_RDONLY | O_CLOEXEC);
        assert_int_equal(elf_section_strings(fd, ".rodata", 8, count, &n), 0);
        assert_int_equal(n, 2);
        assert_int_equal(elf_section_strings(fd, ".data", 8, count, &n), -ENOENT);
}

static void test_section_of_a_bad_file(void **state _unused_) {
        size_t n = 0;
        int fd;

        put("a.so", "no ELF file, but long enough to have a header, if it were one: sixty-four bytes and more");
        fd = open("a.so", O_RDONLY | O_CLOEXEC);
        assert_int_equal(elf_section_strings(fd, ".rodata", 4, count, &n), -EBADMSG);
        close(fd);
        put_elf("b.so", ".rodata", "data", 4);
        assert_int_equal(truncate("b.so", 150), 0);
        fd = open("b.so", O_RDONLY | O_CLOEXEC);
        assert_int_equal(elf_section_strings(fd, ".rodata", 4, count, &n), -EBADMSG);
        close(fd);
        assert_int_equal(n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, check_setup, check_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_plain),
                TEST(test_compressed),
                TEST(test_no_version),
                TEST(test_any_offset),
                TEST(test_only_the_section),
                TEST(test_no_module),
                TEST(test_truncated),
                TEST(test_section_strings),
                TEST(test_section_of_a_bad_file),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
