/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/verb.h"

#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct Wish {
        const char *place;
        int times;
} Wish;

static Wish seen;
static char words[128], command[128];

static const OptionSpec options[] = {
        { "place", 'p', "WHERE", "one way to say it" },
        { "place", 'p', "X,Y", "and another" },
        { "again", OPT_VERB, NULL, "once more" },
        { "enough", OPT_VERB + 1, NULL, "nothing else" },
        {},
};

static int take(void *values, int id, const char *value) {
        Wish *w = values;

        if (id == OPT_VERB + 1)
                return 1;
        if (id == OPT_VERB) {
                w->times++;
                return 0;
        }
        w->place = value;
        return streq(value, "nowhere") ? -EINVAL : 0;
}

static int run(VerbCall *call) {
        _cleanup_free_ char *a = strv_join(call->arguments, " "),
                            *c = strv_join(call->command, " ");

        seen = *(Wish *) call->options;
        snprintf(words, sizeof(words), "%s", strempty(a));
        snprintf(command, sizeof(command), "%s", strempty(c));
        return call->n_arguments == 3 ? -EACCES : 7;
}

static Verb verb = {
        .spec = { "wish", "wish for it", options },
        .usage = "WHAT",
        .about = "Wishes.",
        .min_arguments = 1,
        .max_arguments = 3,
        .wanted = "takes a wish",
        .options_size = sizeof(Wish),
        .defaults = &(const Wish) { .place = "here" },
        .take = take,
        .run = run,
};

static int call(char *const *argv) {
        _cleanup_strv_free_ char **copy = strv_copy(argv);
        char *sorted[16] = {};
        int n = (int) strv_length(copy);

        for (int i = 0; i < n; i++)
                sorted[i] = copy[i];
        optind = 0; /* getopt starts afresh */
        seen = (Wish) {};
        words[0] = command[0] = '\0';
        return verb_main(&verb, NULL, n, sorted);
}

static void options_and_arguments_may_be_mixed(void **state _unused_) {
        assert_int_equal(call(ARGV("wish", "a", "--again", "--place=there", "b", "--again")), 7);
        assert_int_equal(seen.times, 2);
        assert_string_equal(words, "a b");
}

static void what_is_not_said_is_as_the_table_has_it(void **state _unused_) {
        assert_int_equal(call(ARGV("wish", "a")), 7);
        assert_string_equal(seen.place, "here");
        assert_int_equal(seen.times, 0);
}

static void dashes_end_the_options(void **state _unused_) {
        assert_int_equal(call(ARGV("wish", "a", "--", "--again")), 7);
        assert_string_equal(words, "a --again");
        assert_int_equal(seen.times, 0);

        verb.command = true;
        assert_int_equal(call(ARGV("wish", "a", "--", "--again", "b")), 7);
        verb.command = false;
        assert_string_equal(words, "a");
        assert_string_equal(command, "--again b");
}

static void wrong_usage_runs_nothing(void **state _unused_) {
        assert_int_equal(call(ARGV("wish")), EXIT_USAGE);
        assert_int_equal(call(ARGV("wish", "a", "b", "c", "d")), EXIT_USAGE);
        assert_int_equal(call(ARGV("wish", "a", "--place=nowhere")), EXIT_USAGE);
        assert_int_equal(call(ARGV("wish", "a", "--jobs=0")), EXIT_USAGE);
        assert_int_equal(call(ARGV("wish", "a", "--bogus")), EXIT_USAGE);
        assert_string_equal(words, "");
}

static void an_option_may_be_the_whole_work(void **state _unused_) {
        assert_int_equal(call(ARGV("wish", "--enough", "--bogus")), EXIT_OK);
        assert_string_equal(words, "");
}

static void errors_become_exit_codes(void **state _unused_) {
        assert_int_equal(call(ARGV("wish", "a", "b", "c")), EXIT_HOST);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(options_and_arguments_may_be_mixed),
                cmocka_unit_test(what_is_not_said_is_as_the_table_has_it),
                cmocka_unit_test(dashes_end_the_options),
                cmocka_unit_test(wrong_usage_runs_nothing),
                cmocka_unit_test(an_option_may_be_the_whole_work),
                cmocka_unit_test(errors_become_exit_codes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
