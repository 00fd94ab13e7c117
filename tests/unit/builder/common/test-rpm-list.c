/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/rpm-list.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static int take(const RpmPackage *p, void *userdata) {
        const char *const words[] = { p->name, p->version, p->arch, p->source, p->source_version,
                p->module };
        _cleanup_strv_free_ char **line = NULL;
        _cleanup_free_ char *text = NULL;

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                assert_int_equal(strv_extend(&line, words[i] ? words[i] : "-"), 0);
        text = strv_join(line, " ");
        return strv_extend(userdata, text);
}

static void assert_list(const char *said, const char *wanted) {
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *got = NULL;

        assert_int_equal(rpm_list_read(said, take, &lines), 0);
        got = strv_join(lines, ", ");
        assert_string_equal(strempty(got), wanted);
}

static void a_source_is_taken_apart(void **state _unused_) {
        assert_list("openssl-libs\t1:3.0-2\tx86_64\topenssl-3.0-2.src.rpm\n",
                        "openssl-libs 1:3.0-2 x86_64 openssl 3.0-2 -");
        assert_list("openssl\t1:3.0-2\tx86_64\topenssl-3.0-2.src.rpm\n",
                        "openssl 1:3.0-2 x86_64 - - -");
        assert_list("a\t1-1\tnoarch\t(none)\n", "a 1-1 noarch - - -");
}

static void lines_end_where_they_end(void **state _unused_) {
        assert_list("a\t1-1\nb\t1-1\tnoarch\nc\t1-1\tnoarch\t\tm:1:2\nwarning\n\n",
                        "a 1-1 - - - -, b 1-1 noarch - - -, c 1-1 noarch - - m:1:2");
}

static void keys_are_no_packages(void **state _unused_) {
        assert_list("gpg-pubkey\t1-1\t(none)\t(none)\n\t1-1\tnoarch\n", "");
}

static int refuse(const RpmPackage *p _unused_, void *userdata) {
        ++*(int *) userdata;
        return -EBADMSG;
}

static void who_reads_may_end_it(void **state _unused_) {
        int n = 0;

        assert_int_equal(rpm_list_read("a\t1\nb\t1\n", refuse, &n), -EBADMSG);
        assert_int_equal(n, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_source_is_taken_apart),
                cmocka_unit_test(lines_end_where_they_end),
                cmocka_unit_test(keys_are_no_packages),
                cmocka_unit_test(who_reads_may_end_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
