/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/diff.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static json_object *parse(const char *text) {
        JsonError error;
        json_object *o = NULL;

        assert_int_equal(json_parse(text, strlen(text), &error, &o), 0);
        return o;
}

static size_t length(json_object *o, const char *group, const char *kind) {
        return json_object_array_length(json_get(json_get(o, group), kind));
}

static void equal_sides_differ_in_nothing(void **state _unused_) {
        _cleanup_json_ json_object *
                        a = parse("{\"packages\":[{\"name\":\"x\",\"version\":\"1\"}],\"facts\":{\"k\":\"v\"}}"),
                       *d = NULL;

        assert_int_equal(diff_sides(a, a, &d), 0);
        assert_true(diff_is_empty(d));
}

static void packages_are_added_removed_changed(void **state _unused_) {
        _cleanup_json_ json_object *
                        d = NULL,
                       *a = parse("{\"packages\":[{\"name\":\"x\",\"version\":\"1\",\"arch\":\"amd64\"},{\"name\":\"y\",\"version\":\"1\"}]}"),
                       *b = parse("{\"packages\":[{\"name\":\"x\",\"version\":\"2\",\"arch\":\"amd64\"},{\"name\":\"z\",\"version\":\"1\"}]}");

        assert_int_equal(diff_sides(a, b, &d), 0);
        assert_false(diff_is_empty(d));
        assert_int_equal(length(d, "packages", "added"), 1);
        assert_int_equal(length(d, "packages", "removed"), 1);
        json_object *changed =
                        json_object_array_get_idx(json_get(json_get(d, "packages"), "changed"), 0);
        assert_string_equal(json_get_string(changed, "name"), "x:amd64");
        assert_string_equal(json_get_string(changed, "from"), "1");
        assert_string_equal(json_get_string(changed, "to"), "2");
}

static void two_versions_of_one_package_are_kept(void **state _unused_) {
        _cleanup_json_ json_object *
                        d = NULL,
                       *a = parse("{\"packages\":[{\"name\":\"kernel\",\"version\":\"1\"},{\"name\":\"kernel\",\"version\":\"2\"}]}"),
                       *b = parse("{\"packages\":[{\"name\":\"kernel\",\"version\":\"2\"}]}");

        assert_int_equal(diff_sides(a, b, &d), 0);
        json_object *changed =
                        json_object_array_get_idx(json_get(json_get(d, "packages"), "changed"), 0);
        assert_string_equal(json_get_string(changed, "from"), "1, 2");
}

static void what_came_to_have_rights_is_told(void **state _unused_) {
        _cleanup_json_ json_object *
                        a = parse("{\"packages\":[],\"privileged\":[{\"path\":\"/usr/bin/su\",\"mode\":\"4755\",\"uid\":0,\"gid\":0}]}"),
                       *b = parse("{\"packages\":[],\"privileged\":[{\"path\":\"/usr/bin/su\",\"mode\":\"4755\",\"uid\":0,\"gid\":0},"
                                  "{\"path\":\"/opt/x\",\"mode\":\"0755\",\"uid\":0,\"gid\":7,\"capabilities\":\"cap_net_raw\"}]}"),
                       *side = NULL, *other = NULL, *d = NULL;
        const char *text;

        assert_int_equal(diff_side_from_manifest(a, "a", &side), 0);
        assert_int_equal(diff_side_from_manifest(b, "b", &other), 0);
        assert_int_equal(diff_sides(side, other, &d), 0);
        text = json_object_to_json_string_ext(
                        d, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        assert_non_null(strstr(text, "privileged /opt/x"));
        assert_non_null(strstr(text, "0755 0:7 cap_net_raw"));
        assert_null(strstr(text, "/usr/bin/su"));
}

static void facts_come_from_an_inspection(void **state _unused_) {
        _cleanup_json_ json_object *
                        i = parse("{\"image\":\"a\",\"os\":{\"name\":\"Debian\"},\"packages\":[],"
                                  "\"kernels\":[{\"release\":\"6.12\",\"bootable\":true,\"nvidia\":\"550.1\"}],"
                                  "\"software\":{\"nccl\":{\"label\":\"NCCL\",\"version\":\"2.21\"}}}"),
                       *side = NULL;

        assert_int_equal(diff_side_from_inspection(i, &side), 0);
        json_object *facts = json_get(side, "facts");
        assert_string_equal(json_get_string(facts, "system"), "Debian");
        assert_string_equal(json_get_string(facts, "kernel 6.12"), "bootable");
        assert_string_equal(json_get_string(facts, "NVIDIA driver for 6.12"), "550.1");
        assert_string_equal(json_get_string(facts, "NCCL"), "2.21");
}

static void manifest_needs_packages(void **state _unused_) {
        _cleanup_json_ json_object *m = parse("{\"kernel\":\"6\"}"), *side = NULL;

        assert_int_equal(diff_side_from_manifest(m, "m", &side), -EINVAL);
        assert_null(side);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(equal_sides_differ_in_nothing),
                cmocka_unit_test(packages_are_added_removed_changed),
                cmocka_unit_test(two_versions_of_one_package_are_kept),
                cmocka_unit_test(what_came_to_have_rights_is_told),
                cmocka_unit_test(facts_come_from_an_inspection),
                cmocka_unit_test(manifest_needs_packages),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
