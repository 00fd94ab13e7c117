/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A step's figures as people see them. */

#include "ctl/ctl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* As printed; the caller frees it. */
static char *printed(const char *json) {
        _cleanup_json_ json_object *o = json_tokener_parse(json);
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(o);
        assert_non_null(f);
        figures_print(f, o);
        assert_int_equal(fclose(f), 0);
        return text;
}

static void plain_figures_are_one_a_line(void **state _unused_) {
        _cleanup_free_ char *text = printed("{\"disks\":4,\"file system\":\"xfs\",\"grown\":true}");

        assert_string_equal(text, "    disks        4\n"
                                  "    file system  xfs\n"
                                  "    grown        true\n");
}

static void several_of_a_kind_are_a_table(void **state _unused_) {
        _cleanup_free_ char *text = printed("{\"gpus\":[{\"index\":0,\"name\":\"H200\"},"
                                            "{\"index\":10,\"name\":\"H200\",\"xid\":79}]}");

        assert_string_equal(text, "    gpus\n"
                                  "      index  name  xid\n"
                                  "      0      H200  -\n"
                                  "      10     H200  79\n");
}

static void lists_and_groups_are_no_json(void **state _unused_) {
        _cleanup_free_ char *text = printed("{\"serials\":[\"A\",\"B\"],\"none\":[],"
                                            "\"pcie\":{\"speed\":32,\"width\":16}}");

        assert_string_equal(text, "    serials  A, B\n"
                                  "    none     none\n"
                                  "    pcie\n"
                                  "      speed  32\n"
                                  "      width  16\n");
}

static void a_step_without_figures_prints_nothing(void **state _unused_) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        figures_print(f, NULL);
        assert_int_equal(fclose(f), 0);
        assert_string_equal(text, "");
        free(text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(plain_figures_are_one_a_line),
                cmocka_unit_test(several_of_a_kind_are_a_table),
                cmocka_unit_test(lists_and_groups_are_no_json),
                cmocka_unit_test(a_step_without_figures_prints_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
