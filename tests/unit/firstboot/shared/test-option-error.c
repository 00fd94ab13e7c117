/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared/option-error.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct option options[] = {
        { "cache", required_argument, NULL, 256 },
        { "json", no_argument, NULL, 257 },
        { "jobs", required_argument, NULL, 'j' },
        {},
};

static char *said;

static void keep_line(int level _unused_, const char *line, void *userdata _unused_) {
        free(said);
        said = strdup(line);
}

/* What is said of one word of the command line. */
static void assert_told(const char *word, const char *text) {
        char *const *argv = ARGV("program", word);

        optind = 0;
        opterr = 0;
        log_set_program(NULL);
        log_set_writer(keep_line, NULL);
        assert_int_equal(getopt_long(2, (char **) argv, "j:", options, NULL), '?');
        log_bad_option(argv, options);
        log_set_writer(NULL, NULL);
        assert_non_null(strstr(said, text));
}

static void a_misspelt_option_has_a_suggestion(void **state _unused_) {
        assert_told("--chache=x", "There is no option --chache; did you mean --cache?");
        assert_told("--josn", "There is no option --josn; did you mean --json?");
}

static void one_that_is_like_none_points_at_help(void **state _unused_) {
        assert_told("--nonsense", "There is no option --nonsense; --help lists them");
        assert_told("-x", "There is no option -x; --help lists them");
}

static void a_long_one_with_one_dash_is_known(void **state _unused_) {
        assert_told("-cache=x", "There is no option -c; did you mean --cache=x?");
        assert_told("-c", "There is no option -c; --help lists them");
}

static void values_are_wanted_or_not(void **state _unused_) {
        assert_told("--cache", "--cache wants a value");
        assert_told("-j", "--jobs wants a value");
        assert_told("--json=1", "--json takes no value");
}

static int free_said(void **state _unused_) {
        free(said);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_misspelt_option_has_a_suggestion),
                cmocka_unit_test(one_that_is_like_none_points_at_help),
                cmocka_unit_test(a_long_one_with_one_dash_is_known),
                cmocka_unit_test(values_are_wanted_or_not),
        };

        return cmocka_run_group_tests(tests, NULL, free_said);
}
