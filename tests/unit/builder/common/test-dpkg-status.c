/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/dpkg-status.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct Seen {
        char **lines;
        int stop_after;
} Seen;

static int see(const DpkgPackage *p, void *userdata) {
        Seen *s = userdata;

        assert_int_equal(strv_extendf(&s->lines, "%s %s %s %lld%s%s", p->name, p->version,
                                         p->arch ? p->arch : "-", (long long) p->size,
                                         p->installed ? " installed" : "", p->held ? " held" : ""),
                        0);
        return s->stop_after && --s->stop_after == 0 ? -ECANCELED : 0;
}

static int read_text(const char *text, Seen *s) {
        _cleanup_fclose_ FILE *f = fmemopen((void *) text, strlen(text), "r");

        assert_non_null(f);
        return dpkg_status_read(f, see, s);
}

static const char two[] =
                "Package: a\nStatus: install ok installed\nInstalled-Size: 3\nArchitecture: amd64\nVersion: 1.0-1\n"
                "Description: x\n Version: not this one\n\n"
                "Package: b\nStatus: hold ok installed\nVersion: 2\n";

static void each_stanza_is_seen_even_without_an_empty_line_at_the_end(void **state _unused_) {
        Seen s = {};

        assert_int_equal(read_text(two, &s), 0);
        assert_int_equal(strv_length(s.lines), 2);
        assert_string_equal(s.lines[0], "a 1.0-1 amd64 3072 installed");
        assert_string_equal(s.lines[1], "b 2 - -1 installed held");
        strv_free(s.lines);
}

static void a_removed_package_is_not_installed(void **state _unused_) {
        Seen s = {};

        assert_int_equal(read_text("Package: a\nStatus: deinstall ok config-files\nVersion: 1\n\n",
                                         &s),
                        0);
        assert_string_equal(s.lines[0], "a 1 - -1");
        strv_free(s.lines);
}

static void a_stanza_without_version_is_passed_over(void **state _unused_) {
        Seen s = {};

        assert_int_equal(read_text("Package: a\nStatus: install ok installed\n\n\n\n", &s), 0);
        assert_null(s.lines);
}

static void what_the_visitor_returns_ends_the_reading(void **state _unused_) {
        Seen s = { .stop_after = 1 };

        assert_int_equal(read_text(two, &s), -ECANCELED);
        assert_int_equal(strv_length(s.lines), 1);
        strv_free(s.lines);
}

static void a_size_that_cannot_be_is_none(void **state _unused_) {
        Seen s = {};

        assert_int_equal(read_text("Package: a\nVersion: 1\nInstalled-Size: 99999999999999999999\n",
                                         &s),
                        0);
        assert_string_equal(s.lines[0], "a 1 - -1");
        strv_free(s.lines);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_stanza_is_seen_even_without_an_empty_line_at_the_end),
                cmocka_unit_test(a_removed_package_is_not_installed),
                cmocka_unit_test(a_stanza_without_version_is_passed_over),
                cmocka_unit_test(what_the_visitor_returns_ends_the_reading),
                cmocka_unit_test(a_size_that_cannot_be_is_none),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
