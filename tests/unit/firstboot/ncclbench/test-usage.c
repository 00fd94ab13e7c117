/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/option-table.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *completion_of(const char *shell) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        assert_int_equal(options_completion(f, shell), 0);
        assert_int_equal(fclose(f), 0);
        return text;
}

/* Whether `word` stands among words separated by spaces. */
static bool has_word(const char *words, const char *word) {
        size_t n = strlen(word);

        for (const char *p = words; (p = strstr(p, word)); p++)
                if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
                        return true;
        return false;
}

static void help_has_every_option(void **state _unused_) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        options_help(f);
        assert_int_equal(fclose(f), 0);
        for (size_t i = 0; i < option_count; i++)
                assert_non_null(strstr(text, option_table[i].spec.name));
}

static void completion_has_every_option_and_operation(void **state _unused_) {
        _cleanup_free_ char *bash = completion_of("bash"), *zsh = completion_of("zsh");

        for (size_t i = 0; i < option_count; i++) {
                assert_non_null(strstr(bash, option_table[i].spec.name));
                assert_non_null(strstr(zsh, option_table[i].spec.name));
        }
        for (size_t i = 0; i < collective_count; i++)
                assert_non_null(strstr(bash, collective_table[i].name));
}

static void completion_offers_every_type_and_reduction(void **state _unused_) {
        const char *types = option_find('d')->spec.words, *ops = option_find('o')->spec.words;

        for (int t = 0; t < TYPE_COUNT; t++)
                assert_true(has_word(types, type_table[t].name));
        for (int op = 0; op < OP_COUNT; op++)
                assert_true(has_word(ops, op_names[op]));
}

static void the_table_fits_getopt(void **state _unused_) {
        assert_true(option_count < OPTION_COUNT_MAX);
        for (size_t i = 0; i < option_count; i++)
                assert_ptr_equal(option_find(option_id(&option_table[i])), &option_table[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(help_has_every_option),
                cmocka_unit_test(completion_has_every_option_and_operation),
                cmocka_unit_test(completion_offers_every_type_and_reduction),
                cmocka_unit_test(the_table_fits_getopt),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
