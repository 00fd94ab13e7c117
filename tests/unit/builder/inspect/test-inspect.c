/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/inspect.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static json_object *parse_status(const char *text) {
        json_object *packages = json_object_new_array();
        FILE *f = fmemopen((char *) text, strlen(text), "r");

        assert_non_null(f);
        assert_int_equal(inspect_parse_dpkg(f, packages), 0);
        fclose(f);
        return packages;
}

static void installed_packages_with_their_sizes(void **state _unused_) {
        _cleanup_json_ json_object *l = parse_status(
                        "Package: zsh\nStatus: install ok installed\nInstalled-Size: 10\nArchitecture: amd64\n"
                        "Version: 5.9-4\nDescription: shell\n Version: 1 in a long text\n\n"
                        "Package: bash\nStatus: hold ok installed\nVersion: 5.2\n");

        assert_int_equal(json_object_array_length(l), 2);
        json_object *bash = json_object_array_get_idx(l, 0), *zsh = json_object_array_get_idx(l, 1);
        assert_string_equal(json_get_string(bash, "name"), "bash");
        assert_null(json_get(bash, "size"));
        assert_string_equal(json_get_string(zsh, "version"), "5.9-4");
        assert_int_equal(json_get_int(zsh, "size", 0), 10240);
}

static void removed_packages_do_not_count(void **state _unused_) {
        _cleanup_json_ json_object *l = parse_status(
                        "Package: a\nStatus: deinstall ok config-files\nVersion: 1\n\n"
                        "Package: b\nStatus: install ok half-installed\nVersion: 1\n\n\n\n");

        assert_int_equal(json_object_array_length(l), 0);
}

static void library_names_have_versions(void **state _unused_) {
        static const struct {
                const char *path, *version;
        } cases[] = {
                { "/usr/lib/libnccl.so.2.21.5", "2.21.5" },
                { "/usr/lib/libcuda.so.550.163.01", "550.163.01" },
                { "/usr/lib/libnccl.so", NULL },
                { "/usr/lib/libnccl.so.2.debug", NULL },
                { "/usr/bin/enroot", NULL },
                { "/usr/lib/x.so.", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_true(streq_ptr(inspect_library_version(cases[i].path), cases[i].version));
}

static void sizes_for_people(void **state _unused_) {
        static const struct {
                uint64_t bytes;
                const char *text;
        } cases[] = {
                { 0, "0 B" },
                { 999, "999 B" },
                { 1024, "1.0 KiB" },
                { UINT64_C(5) << 29, "2.5 GiB" },
                { UINT64_C(3) << 40, "3.0 TiB" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                char text[32];

                inspect_format_size(cases[i].bytes, text, sizeof(text));
                assert_string_equal(text, cases[i].text);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(installed_packages_with_their_sizes),
                cmocka_unit_test(removed_packages_do_not_count),
                cmocka_unit_test(library_names_have_versions),
                cmocka_unit_test(sizes_for_people),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
