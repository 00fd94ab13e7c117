/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void each_name_of_the_table_is_its_own(void **state _unused_) {
        for (int type = 0; type < TYPE_COUNT; type++) {
                int found = -1;

                assert_int_equal(type_from_name(type_table[type].name, &found), 0);
                assert_int_equal(found, type);
                assert_in_range(type_table[type].size, 1, TYPE_SIZE_MAX);
        }
        for (int op = 0; op < OP_COUNT; op++) {
                int found = -1;

                assert_int_equal(op_from_name(op_names[op], &found), 0);
                assert_int_equal(found, op);
        }
}

static void the_usual_other_names_are_taken_in_any_case(void **state _unused_) {
        static const struct {
                const char *name;
                int type;
        } others[] = { { "bf16", TYPE_BFLOAT16 }, { "BF16", TYPE_BFLOAT16 }, { "fp32", TYPE_FLOAT },
                { "Float", TYPE_FLOAT }, { "fp16", TYPE_HALF }, { "char", TYPE_INT8 },
                { "float8e5m2", TYPE_F8E5M2 } };

        for (size_t i = 0; i < ELEMENTSOF(others); i++) {
                int found = -1;

                assert_int_equal(type_from_name(others[i].name, &found), 0);
                assert_int_equal(found, others[i].type);
        }
}

static void what_is_no_name_changes_nothing(void **state _unused_) {
        int found = 7;

        assert_int_equal(type_from_name("float128", &found), -EINVAL);
        assert_int_equal(type_from_name("", &found), -EINVAL);
        assert_int_equal(op_from_name("none", &found), -EINVAL);
        assert_int_equal(op_from_name("mulsum", &found), -EINVAL);
        assert_int_equal(found, 7);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_name_of_the_table_is_its_own),
                cmocka_unit_test(the_usual_other_names_are_taken_in_any_case),
                cmocka_unit_test(what_is_no_name_changes_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
