/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk/walk.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int note(const FTSENT *e, const char *inside, void *userdata) {
        char ***l = userdata;

        return strv_extendf(l, "%s%s", inside,
                        e->fts_info == FTS_D    ? " {"
                        : e->fts_info == FTS_DP ? " }"
                                                : "");
}

static int stop_at_b(const FTSENT *e _unused_, const char *inside, void *userdata) {
        size_t *seen = userdata;

        (*seen)++;
        return streq(inside, "/b") ? -ECANCELED : 0;
}

static int setup(void **state) {
        static char folder[64];

        strcpy(folder, "/tmp/imgbuild-walk.XXXXXX");
        assert_non_null(mkdtemp(folder));
        assert_int_equal(chdir(folder), 0);
        assert_int_equal(mkdir_p("a/empty", 0755), 0);
        assert_int_equal(write_file_atomic("b", "x", 1, 0644), 0);
        assert_int_equal(symlink("/etc", "c"), 0);
        assert_int_equal(write_file_atomic("a/f", "x", 1, 0644), 0);
        *state = folder;
        return 0;
}

static int teardown(void **state) {
        assert_int_equal(chdir("/"), 0);
        return rm_rf(*state);
}

static void folders_are_met_before_and_behind_their_content(void **state) {
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *text = NULL;

        assert_int_equal(walk_tree(*state, note, &l), 0);
        text = strv_join(l, "|");
        assert_string_equal(text, " {|/a {|/a/empty {|/a/empty }|/a/f|/a }|/b|/c| }");
}

static void an_error_ends_the_walk(void **state) {
        size_t seen = 0;

        assert_int_equal(walk_tree(*state, stop_at_b, &seen), -ECANCELED);
        assert_int_equal(seen, 7); /* the root, /a, /a/empty twice, /a/f, /a again, /b */
}

static void a_missing_tree_is_an_error(void **state _unused_) {
        _cleanup_strv_free_ char **l = NULL;

        log_set_level(LOG_CRIT);
        assert_int_equal(walk_tree("/nonexistent", note, &l), -ENOENT);
        log_set_level(LOG_INFO);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(folders_are_met_before_and_behind_their_content),
                cmocka_unit_test(an_error_ends_the_walk),
                cmocka_unit_test(a_missing_tree_is_an_error),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
