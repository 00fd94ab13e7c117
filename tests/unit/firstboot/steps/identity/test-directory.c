/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a server's answer proves. */

#include "steps/identity/directory.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void who_is_there_is_there_with_his_number(void **state) {
        _cleanup_directory_answer_ DirectoryAnswer a = {};

        (void) state;
        assert_int_equal(directory_answer_parse(
                                         "{\"kind\":\"ok\",\"text\":\"\",\"uid\":\"20001\"}\n", &a),
                        0);
        assert_null(a.code);
        assert_string_equal(a.uid, "20001");
}

static void the_directory_s_own_no_is_told_from_silence(void **state) {
        _cleanup_directory_answer_ DirectoryAnswer no = {}, silent = {};

        (void) state;
        assert_int_equal(directory_answer_parse("{\"kind\":\"no-user\",\"text\":\"x\"}", &no), 0);
        assert_string_equal(no.code, "identity.no-user");
        assert_true(no.answered);
        assert_int_equal(directory_answer_parse("{\"kind\":\"timeout\",\"text\":\"y\"}", &silent),
                        0);
        assert_string_equal(silent.code, "identity.unreachable");
        assert_false(silent.answered);
}

static void what_makes_no_sense_proves_nothing(void **state) {
        static const char *const said[] = { "", "ok", "{}", "[]", "{\"kind\":\"fine\"}",
                "{\"kind\":7}", "{\"kind\":\"ok\"" };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(said); i++) {
                _cleanup_directory_answer_ DirectoryAnswer a = {};

                assert_int_equal(directory_answer_parse(said[i], &a), 0);
                assert_string_equal(a.code, "identity.search");
                assert_false(a.answered);
                assert_non_null(strstr(a.text, "could not be asked"));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_is_there_is_there_with_his_number),
                cmocka_unit_test(the_directory_s_own_no_is_told_from_silence),
                cmocka_unit_test(what_makes_no_sense_proves_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
