/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/internal.h"

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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(installed_packages_with_their_sizes),
                cmocka_unit_test(removed_packages_do_not_count),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
