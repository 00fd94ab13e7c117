/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* /etc/nccl.conf merged with our lines. */

#include "steps/nccl/conf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const NcclSetting settings[] = {
        { "NCCL_IB_HCA", "=mlx5_0,mlx5_1", true },
        { "NCCL_IB_GID_INDEX", NULL, true },
        { "NCCL_IB_TC", "41", false },
};

static char *merge(const char *text) {
        char *result = nccl_conf_merge(text, settings, ELEMENTSOF(settings));

        assert_non_null(result);
        return result;
}

static void assert_value(const char *text, const char *key, const char *value) {
        _cleanup_free_ char *got = nccl_conf_get(text, key);

        if (value) {
                assert_non_null(got);
                assert_string_equal(got, value);
        } else
                assert_null(got);
}

static void an_empty_file_gets_our_lines(void **state) {
        _cleanup_free_ char *text = merge("");

        (void) state;
        assert_value(text, "NCCL_IB_HCA", "=mlx5_0,mlx5_1");
        assert_value(text, "NCCL_IB_GID_INDEX", NULL);
        assert_value(text, "NCCL_IB_TC", "41");
}

static void merging_again_changes_nothing(void **state) {
        static const char *const texts[] = { "", "A=1\n", "A=1", "\n\n# x\n", "NCCL_IB_TC=1\nB=2" };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_free_ char *once = merge(texts[i]), *twice = merge(once);
                assert_string_equal(once, twice);
        }
}

static void other_lines_stay_in_their_place(void **state) {
        _cleanup_free_ char *text = merge("# mine\n\nNCCL_DEBUG=WARN\n  odd line\n");

        (void) state;
        assert_int_equal(strncmp(text, "# mine\n\nNCCL_DEBUG=WARN\n  odd line\n", 35), 0);
}

static void an_owned_key_is_ours_alone(void **state) {
        _cleanup_free_ char *text =
                        merge("NCCL_IB_HCA=old\nX=1\nNCCL_IB_GID_INDEX=3\nNCCL_IB_HCA=older\n");

        (void) state;
        assert_null(strstr(text, "old"));
        assert_value(text, "NCCL_IB_GID_INDEX", NULL);
        assert_value(text, "X", "1");
}

static void keys_that_begin_alike_are_others(void **state) {
        _cleanup_free_ char *text = merge("NCCL_IB_HCA_X=1\n#NCCL_IB_HCA=2\nNCCL_IB_HCA =3\n");

        (void) state;
        assert_value(text, "NCCL_IB_HCA_X", "1");
        assert_non_null(strstr(text, "#NCCL_IB_HCA=2\n"));
        assert_non_null(strstr(text, "NCCL_IB_HCA =3\n"));
}

static void somebody_elses_line_counts_before_a_default(void **state) {
        _cleanup_free_ char *text = merge("NCCL_IB_TC=106\n");

        (void) state;
        assert_value(text, "NCCL_IB_TC", "106");
        assert_null(strstr(text, "=41"));
}

static void a_default_that_is_dropped_leaves_with_our_block(void **state) {
        _cleanup_free_ char *before = merge("A=1\n"), *after = nccl_conf_merge(before, NULL, 0);

        (void) state;
        assert_string_equal(after, "A=1\n");
}

static void a_block_without_its_end_is_nobodys(void **state) {
        _cleanup_free_ char *whole = merge(""), *cut = NULL, *text = NULL;

        (void) state;
        cut = strndup(whole, (size_t) (strstr(whole, "# End") - whole));
        _cleanup_free_ char *more = malloc(strlen(cut) + 32);
        sprintf(more, "%sTHEIRS=1\n", cut);
        text = merge(more);
        assert_value(text, "THEIRS", "1");
        assert_value(text, "NCCL_IB_HCA", "=mlx5_0,mlx5_1");
}

static void the_first_of_two_lines_counts(void **state) {
        (void) state;
        assert_value("A=1\nA=2\n", "A", "1");
        assert_value("#A=1\nA=", "A", "");
        assert_value("", "A", NULL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_empty_file_gets_our_lines),
                cmocka_unit_test(merging_again_changes_nothing),
                cmocka_unit_test(other_lines_stay_in_their_place),
                cmocka_unit_test(an_owned_key_is_ours_alone),
                cmocka_unit_test(keys_that_begin_alike_are_others),
                cmocka_unit_test(somebody_elses_line_counts_before_a_default),
                cmocka_unit_test(a_default_that_is_dropped_leaves_with_our_block),
                cmocka_unit_test(a_block_without_its_end_is_nobodys),
                cmocka_unit_test(the_first_of_two_lines_counts),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
