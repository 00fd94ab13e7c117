/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

static void files_differ_in_what_they_differ(void **state _unused_) {
        _cleanup_file_list_free_ FileList *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
        _cleanup_json_ json_object *d = NULL;

        assert_non_null(a);
        assert_non_null(b);
        /* Not in order: comparing sorts. */
        assert_int_equal(file_list_add(a, "usr/same", S_IFREG | 0644, 0, 0, 5, "aa"), 0);
        assert_int_equal(file_list_add(a, "etc/content", S_IFREG | 0644, 0, 0, 5, "aa"), 0);
        assert_int_equal(file_list_add(a, "etc/mode", S_IFREG | 0644, 0, 0, 5, "aa"), 0);
        assert_int_equal(file_list_add(a, "etc/owner", S_IFREG | 0644, 0, 0, 5, "aa"), 0);
        assert_int_equal(file_list_add(a, "etc/link", S_IFLNK | 0777, 0, 0, 0, "here"), 0);
        assert_int_equal(file_list_add(a, "etc/type", S_IFDIR | 0755, 0, 0, 0, NULL), 0);
        assert_int_equal(file_list_add(a, "a-gone", S_IFREG | 0644, 0, 0, 5, "aa"), 0);
        assert_int_equal(file_list_add(b, "etc/type", S_IFREG | 0755, 0, 0, 1, "bb"), 0);
        assert_int_equal(file_list_add(b, "etc/link", S_IFLNK | 0777, 0, 0, 0, "there"), 0);
        assert_int_equal(file_list_add(b, "etc/owner", S_IFREG | 0644, 0, 8, 5, "aa"), 0);
        assert_int_equal(file_list_add(b, "etc/mode", S_IFREG | 04755, 0, 0, 5, "aa"), 0);
        assert_int_equal(file_list_add(b, "etc/content", S_IFREG | 0644, 0, 0, 6, "bb"), 0);
        assert_int_equal(file_list_add(b, "usr/same", S_IFREG | 0644, 0, 0, 5, "aa"), 0);
        assert_int_equal(file_list_add(b, "z-new", S_IFREG | 0644, 0, 0, 5, "aa"), 0);
        assert_int_equal(file_list_compare(a, b, &d), 0);

        assert_string_equal(
                        json_object_to_json_string_ext(
                                        d, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                        "{\"added\":[\"/z-new\"],\"removed\":[\"/a-gone\"],\"changed\":["
                        "{\"path\":\"/etc/content\",\"what\":[\"size\",\"content\"]},"
                        "{\"path\":\"/etc/link\",\"what\":[\"content\"]},{\"path\":\"/etc/mode\",\"what\":[\"mode\"]},"
                        "{\"path\":\"/etc/owner\",\"what\":[\"owner\"]},"
                        "{\"path\":\"/etc/type\",\"what\":[\"type\",\"size\",\"content\"]}]}");
}

static void files_are_found_in_a_sorted_list(void **state _unused_) {
        _cleanup_file_list_free_ FileList *l = calloc(1, sizeof(*l));

        assert_non_null(l);
        assert_null(file_list_find(l, "x"));
        assert_int_equal(file_list_add(l, "b", S_IFREG | 0644, 0, 0, 2, NULL), 0);
        assert_int_equal(file_list_add(l, "a", S_IFREG | 0644, 0, 0, 1, NULL), 0);
        file_list_sort(l);
        assert_int_equal(file_list_find(l, "b")->size, 2);
        assert_null(file_list_find(l, "c"));
}

static void what_md5sum_will_say_is_known_beforehand(void **state _unused_) {
        static const char text[] = "d41d8cd98f00b204e9800998ecf8427e  ./etc/motd\n";
        _cleanup_file_list_free_ FileList *l = calloc(1, sizeof(*l));

        assert_non_null(l);
        assert_int_equal(file_list_add(l, "etc/motd", S_IFREG | 0644, 0, 0, 0, NULL), 0);
        assert_int_equal(file_list_add(l, "etc", S_IFDIR | 0755, 0, 0, 0, NULL), 0);
        assert_int_equal(file_list_checksum_text(l), strlen(text));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(files_differ_in_what_they_differ),
                cmocka_unit_test(files_are_found_in_a_sorted_list),
                cmocka_unit_test(what_md5sum_will_say_is_known_beforehand),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
