/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/doctor-report.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void version_is_found_in_what_a_program_says(void **state _unused_) {
        static const struct {
                const char *text, *version;
        } cases[] = {
                { "bubblewrap 0.8.0\n", "0.8.0" },
                { "mmdebstrap 1.3.5", "1.3.5" },
                { "apt 2.6.2 (amd64)\n", "2.6.2" },
                { "Debian 'dpkg-deb' package archive backend version 1.21.23 (amd64).", "1.21.23" },
                { "gpg (GnuPG) 2.2.40\nlibgcrypt 1.10.1\n", "2.2.40" },
                { "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)", "7.2.22" },
                { "OpenSSH_9.2p1 Debian-2+deb12u7, OpenSSL 3.0.17", "9.2" },
                { "OpenSSH_9p1", "9p1" },
                { "no version here 7", NULL },
                { "", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *version = doctor_find_version(cases[i].text);

                if (cases[i].version)
                        assert_string_equal(version, cases[i].version);
                else
                        assert_null(version);
        }
}

static void only_what_is_missing_fails(void **state _unused_) {
        _cleanup_(doctor_report_done) DoctorReport r = {};

        assert_int_equal(doctor_add(&r, "a", "boot", DOCTOR_OK, "1", NULL), 0);
        assert_int_equal(doctor_add(&r, "b", "boot", DOCTOR_SLOWER, NULL, "x"), 0);
        assert_false(doctor_lacks_something(&r));
        assert_int_equal(doctor_add(&r, "c", "boot", DOCTOR_MISSING, "not installed",
                                         "apt install c"),
                        0);
        assert_true(doctor_lacks_something(&r));
}

static void verbs_narrow_the_report(void **state _unused_) {
        _cleanup_(doctor_report_done) DoctorReport r = {};
        char *const verbs[] = { (char *) "inspect", NULL };

        assert_int_equal(doctor_examine(verbs, "/tmp", &r), 0);
        assert_true(r.n > 0);
        for (size_t i = 0; i < r.n; i++)
                assert_non_null(strstr(r.items[i].verbs, "inspect"));
}

static void missing_program_comes_with_a_remedy(void **state _unused_) {
        _cleanup_(doctor_report_done) DoctorReport r = {};
        char *const verbs[] = { (char *) "boot", NULL };
        _cleanup_free_ char *path = strdup(strempty(getenv("PATH")));
        size_t missing = 0;

        setenv("PATH", "/nonexistent", 1);
        assert_int_equal(doctor_examine(verbs, "/tmp", &r), 0);
        setenv("PATH", path, 1);
        for (size_t i = 0; i < r.n; i++)
                if (r.items[i].state == DOCTOR_MISSING &&
                                streq_ptr(r.items[i].found, "not installed")) {
                        assert_non_null(strstr(r.items[i].remedy, "apt install"));
                        missing++;
                }
        assert_true(missing >= 2);
        assert_true(doctor_lacks_something(&r));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(version_is_found_in_what_a_program_says),
                cmocka_unit_test(only_what_is_missing_fails),
                cmocka_unit_test(verbs_narrow_the_report),
                cmocka_unit_test(missing_program_comes_with_a_remedy),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
