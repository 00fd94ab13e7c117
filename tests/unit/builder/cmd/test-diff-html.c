/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whole pages, of images that somebody filled with markup. tests/cli/inspect.sh has another
 * program's parser read one. */

#include "cmd/diff-html.h"
#include "inspect/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

#define EVIL "</title><script>alert(1)</script>\"'&\xff"

static size_t count(const char *text, const char *what) {
        size_t n = 0;

        while ((text = strstr(text, what))) {
                n++;
                text++;
        }
        return n;
}

static void add(FileList *l, const char *path, uint64_t size, const char *content) {
        assert_int_equal(file_list_add(l, path, S_IFREG | 0644, 0, 0, size, content), 0);
}

static char *page_of(FileList *a, FileList *b, const char *packages, bool all) {
        _cleanup_json_ json_object *d = json_tokener_parse(packages);
        _cleanup_byte_tree_ ByteTree *bytes = NULL;
        json_object *files = NULL;
        char *text = NULL;
        size_t size;

        assert_non_null(d);
        if (a && b) {
                assert_int_equal(file_list_compare(a, b, &files), 0);
                assert_int_equal(json_set(d, "files", files), 0);
                assert_int_equal(byte_tree_new(a, b, &bytes), 0);
        }
        assert_int_equal(
                        diff_page(&(DiffPage) { EVIL, "b.qcow2", d, bytes, all }, &text, &size), 0);
        assert_int_equal(strlen(text), size);
        return text;
}

#define NOTHING "{\"facts\": [], \"packages\": {\"added\": [], \"removed\": [], \"changed\": []}}"

static void a_page_has_figures_tables_and_a_map(void **state _unused_) {
        _cleanup_file_list_free_ FileList *a = file_list_new(), *b = file_list_new();
        _cleanup_free_ char *text = NULL;

        add(a, "usr/lib/a.so", 3 << 20, "a");
        add(b, "usr/lib/a.so", 5 << 20, "b");
        add(a, "usr/lib/same.so", 1 << 20, "s");
        add(b, "usr/lib/same.so", 1 << 20, "s");
        add(b, "opt/new", 2 << 20, "n");
        add(a, "opt/gone", 1000, "n");
        text = page_of(a, b,
                        "{\"facts\": [{\"what\": \"kernel\", \"from\": \"6.1\", \"to\": \"6.12\"}], \"packages\": "
                        "{\"added\": [{\"name\": \"zstd:amd64\", \"to\": \"1.5\"}], \"removed\": [], \"changed\": []}}",
                        false);
        assert_non_null(strstr(text, "<b>4.0 MiB → 8.0 MiB</b>in files (+4.0 MiB)"));
        assert_non_null(strstr(text, "<b>7.0 MiB</b>in new or changed files"));
        assert_non_null(strstr(text, "<td>kernel</td><td>6.1</td><td>6.12</td>"));
        assert_non_null(strstr(
                        text, "<tr class=\"added\"><td>zstd:amd64</td><td></td><td>1.5</td>"));
        assert_non_null(strstr(text,
                        "<title>/usr/lib/a.so\n5.0 MiB, was 3.0 MiB\n5.0 MiB in new or changed files</title>"));
        assert_non_null(strstr(text, "<td>/opt/new</td>"));
        assert_non_null(strstr(text, "1 files removed"));
        assert_int_equal(count(text, "<svg "), 1);
        assert_int_equal(count(text, "</svg>"), 1);
}

static void names_are_text_and_nothing_else(void **state _unused_) {
        _cleanup_file_list_free_ FileList *a = file_list_new(), *b = file_list_new();
        _cleanup_free_ char *text = NULL;

        add(b, "x/" EVIL, 1 << 20, "a");
        add(b, EVIL "/y", 1 << 20, "a");
        add(a, "\u202e" EVIL, 1 << 20, "a");
        text = page_of(a, b,
                        "{\"facts\": [{\"what\": \"<img src=x>\", \"from\": \"<svg>\", \"to\": [\"<b>\"]}], \"packages\": "
                        "{\"added\": [{\"name\": \"</table>\", \"to\": \"<i>\"}], \"removed\": [], \"changed\": []}}",
                        true);
        assert_int_equal(count(text, "<script"), 0);
        assert_int_equal(count(text, "<img"), 0);
        assert_int_equal(count(text, "<svg "), 1);
        assert_int_equal(count(text, "<svg>"), 0);
        assert_int_equal(count(text, "<i>"), 0);
        assert_int_equal(count(text, "</table>"), count(text, "<table>"));
        assert_int_equal(count(text, "</title>"), count(text, "<title>"));
        assert_int_equal(count(text, "\xff"), 0);
        assert_int_equal(count(text, "\u202e"), 0);
        assert_true(count(text, "&lt;script&gt;alert(1)") > 4);
}

static void it_asks_nobody_for_anything(void **state _unused_) {
        _cleanup_free_ char *text = page_of(NULL, NULL, NOTHING, false);

        assert_non_null(strstr(text, "default-src 'none'"));
        assert_int_equal(count(text, "http:"), 0);
        assert_int_equal(count(text, "https:"), 0);
        assert_int_equal(count(text, "url("), 0);
        assert_int_equal(count(text, "@import"), 0);
        assert_non_null(strstr(text, "No difference"));
        assert_null(strstr(text, "<svg"));
}

static void a_hundred_thousand_files_are_a_page_of_some_hundred_kilobytes(void **state _unused_) {
        _cleanup_file_list_free_ FileList *a = file_list_new(), *b = file_list_new();
        _cleanup_free_ char *text = NULL, *whole = NULL;
        char path[64];

        for (unsigned i = 0; i < 100000; i++) {
                snprintf(path, sizeof(path), "usr/share/%u/%u", i % 50, i);
                add(b, path, 1 + i % 1000, "x");
        }
        text = page_of(a, b, NOTHING, false);
        assert_in_range(strlen(text), 10000, 1000000);
        assert_non_null(strstr(text, "… and 99000 more; --all lists them"));
        whole = page_of(a, b, NOTHING, true);
        assert_null(strstr(whole, "--all lists them"));
        assert_int_equal(count(whole, "<li>/usr/share/"), 100000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_page_has_figures_tables_and_a_map),
                cmocka_unit_test(names_are_text_and_nothing_else),
                cmocka_unit_test(it_asks_nobody_for_anything),
                cmocka_unit_test(a_hundred_thousand_files_are_a_page_of_some_hundred_kilobytes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
