/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/deb-control.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define CONTROL "Package: tool\nVersion: 1:2.0-1\nArchitecture: amd64\nDescription: a tool\n more\n"

static char path[] = "/tmp/imgbuild-deb-XXXXXX";

static int setup(void **state) {
        int fd = mkstemp(path);

        (void) state;
        return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state) {
        (void) state;
        return unlink(path);
}

static void put(struct archive *a, const char *name, const void *data, size_t size, mode_t type) {
        struct archive_entry *e = archive_entry_new();

        archive_entry_set_pathname(e, name);
        archive_entry_set_filetype(e, type);
        archive_entry_set_perm(e, 0644);
        if (type == AE_IFLNK)
                archive_entry_set_symlink(e, data);
        else
                archive_entry_set_size(e, (la_int64_t) size);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        if (type == AE_IFREG)
                assert_int_equal(archive_write_data(a, data, size), size);
        archive_entry_free(e);
}

typedef struct Entry {
        const char *name, *text;
        mode_t type; /* 0: a file */
} Entry;

static size_t make_tar(const Entry *entries, size_t n, char *buffer, size_t room) {
        struct archive *a = archive_write_new();
        size_t used = 0;

        archive_write_set_format_ustar(a);
        archive_write_add_filter_xz(a);
        assert_int_equal(archive_write_open_memory(a, buffer, room, &used), ARCHIVE_OK);
        for (size_t i = 0; i < n; i++)
                put(a, entries[i].name, entries[i].text, strlen(entries[i].text),
                                entries[i].type ? entries[i].type : AE_IFREG);
        archive_write_close(a);
        archive_write_free(a);
        return used;
}

/* A .deb whose control.tar.xz has these entries, with the members of these names. */
static void make(const Entry *entries, size_t n, const char *const members[]) {
        static char tar[1 << 20];
        size_t size = make_tar(entries, n, tar, sizeof(tar));
        struct archive *a = archive_write_new();

        archive_write_set_format_ar_svr4(a);
        assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
        for (size_t i = 0; members[i]; i++)
                if (startswith(members[i], "control"))
                        put(a, members[i], tar, size, AE_IFREG);
                else
                        put(a, members[i], "2.0\n", 4, AE_IFREG);
        archive_write_close(a);
        archive_write_free(a);
}

static const char *const usual[] = { "debian-binary", "control.tar.xz", "data.tar.xz", NULL };

static void refused(void) {
        DebControl c = {};

        assert_int_equal(deb_control_read(path, &c), -EBADMSG);
        assert_null(c.name);
}

static void refused_control(const char *text) {
        make(&(Entry) { "./control", text, 0 }, 1, usual);
        refused();
}

static void test_what_it_says(void **state) {
        const Entry entries[] = { { "./md5sums", "", 0 }, { "./control", CONTROL "\n", 0 },
                { "./postinst", "#!/bin/sh\n", 0 } };
        _cleanup_deb_control_ DebControl c = {};

        (void) state;
        make(entries, ELEMENTSOF(entries), usual);
        assert_int_equal(deb_control_read(path, &c), 0);
        assert_string_equal(c.name, "tool");
        assert_string_equal(c.version, "1:2.0-1");
        assert_string_equal(c.arch, "amd64");
}

static void test_as_loosely_written_as_dpkg_reads(void **state) {
        const char *const members[] = { "debian-binary", "_gpgbuilder", "control.tar.xz", NULL };
        _cleanup_deb_control_ DebControl c = {};

        (void) state;
        make(&(Entry) { "control", "package:tool \nVERSION:\t1 \r\nArchitecture: all", 0 }, 1,
                        members);
        assert_int_equal(deb_control_read(path, &c), 0);
        assert_string_equal(c.name, "tool");
        assert_string_equal(c.version, "1");
        assert_string_equal(c.arch, "all");
}

/* For an index: an empty line would end the package there. */
static void test_its_fields_without_lines_around_them(void **state) {
        _cleanup_free_ char *text = NULL;

        (void) state;
        make(&(Entry) { "./control", "\n\n" CONTROL "Description: a\n .\n b\n\n\n", 0 }, 1, usual);
        assert_int_equal(deb_control_text(path, &text), 0);
        assert_string_equal(text, CONTROL "Description: a\n .\n b");
}

static void test_no_fields_of_what_is_refused(void **state) {
        char *text = NULL;

        (void) state;
        make(&(Entry) { "./control", CONTROL "\n" CONTROL, 0 }, 1, usual);
        assert_int_equal(deb_control_text(path, &text), -EBADMSG);
        assert_null(text);
}

static void test_a_second_control_file(void **state) {
        const Entry entries[] = { { "./control", CONTROL, 0 },
                { "control", "Package: other\nVersion: 1\nArchitecture: all\n", 0 } };

        (void) state;
        make(entries, ELEMENTSOF(entries), usual);
        refused();
}

static void test_a_link_for_a_control_file(void **state) {
        (void) state;
        make(&(Entry) { "./control", "/etc/passwd", AE_IFLNK }, 1, usual);
        refused();
}

static void test_no_control_file(void **state) {
        (void) state;
        make(&(Entry) { "./md5sums", "", 0 }, 1, usual);
        refused();
}

static void test_texts_that_could_be_read_in_two_ways(void **state) {
        (void) state;
        refused_control(CONTROL "Package: other\n");
        refused_control(CONTROL "\nPackage: other\n");
        refused_control(CONTROL "\n \nanything");
        refused_control("Package: tool\nVersion: 1\n");
        refused_control("");
}

static void test_members_in_another_order(void **state) {
        (void) state;
        for (size_t i = 0; i < 3; i++) {
                static const char *const orders[][4] = {
                        { "control.tar.xz", "debian-binary", NULL },
                        { "debian-binary", "data.tar.xz", "control.tar.xz", NULL },
                        { "debian-binary", NULL },
                };

                make(&(Entry) { "./control", CONTROL, 0 }, 1, orders[i]);
                refused();
        }
}

static void test_a_control_file_too_large(void **state) {
        size_t size = 2 << 20;
        char *text = malloc(size + 1);

        (void) state;
        memset(text, '\n', size);
        text[size] = '\0';
        memcpy(text, CONTROL, sizeof(CONTROL) - 1);
        refused_control(text);
        free(text);
}

static void test_cut_short(void **state) {
        FILE *f;
        long whole;

        (void) state;
        make(&(Entry) { "./control", CONTROL, 0 }, 1,
                        (const char *const[]) { "debian-binary", "control.tar.xz", NULL });
        f = fopen(path, "r+");
        assert_non_null(f);
        fseek(f, 0, SEEK_END);
        whole = ftell(f);
        /* An odd member has a byte of padding behind it, and xz an index nobody needs. */
        for (long n = whole - 64; n >= 0; n -= 7) {
                assert_int_equal(ftruncate(fileno(f), n), 0);
                refused();
        }
        fclose(f);
}

static void test_missing_file(void **state) {
        DebControl c = {};

        (void) state;
        assert_int_equal(deb_control_read("/nonexistent/x.deb", &c), -ENOENT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_it_says),
                cmocka_unit_test(test_as_loosely_written_as_dpkg_reads),
                cmocka_unit_test(test_its_fields_without_lines_around_them),
                cmocka_unit_test(test_no_fields_of_what_is_refused),
                cmocka_unit_test(test_a_second_control_file),
                cmocka_unit_test(test_a_link_for_a_control_file),
                cmocka_unit_test(test_no_control_file),
                cmocka_unit_test(test_texts_that_could_be_read_in_two_ways),
                cmocka_unit_test(test_members_in_another_order),
                cmocka_unit_test(test_a_control_file_too_large),
                cmocka_unit_test(test_cut_short),
                cmocka_unit_test(test_missing_file),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
