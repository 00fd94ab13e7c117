/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/rpm-version.h"
#include "shared/macro.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* In their order. */
static const char *const versions[] = { "0.0.9-1", "0.1-1.el8", "1.0~rc1-1", "1.0~rc1^git1-1",
        "1.0~rc2-1", "1.0-1.el9", "1.0-1.el9_2", "1.0-1.el9_2.1", "1.0-1.el10", "1.0-2.el9",
        "1.0^git1-1", "1.0^git2-1", "1.0.1-1", "1.0.1a-1", "1.0.1b-1", "1.0.2-1", "1.1.1k-9.el8_7",
        "1.01.2-1", "2.7.0-10.module+el8.4.0+570+c2eaf144", "2.7.0-11.el8", "3.0.7-25.el9",
        "3.0.7-27.el9", "20260101-1", "123456789012345678901234567890-1", "1:0.1-1",
        "1:3.0.7-27.el9", "2:0-1" };

static int sign(int n) {
        return (n > 0) - (n < 0);
}

static void they_are_in_order(void **state _unused_) {
        for (size_t i = 0; i < ELEMENTSOF(versions); i++)
                for (size_t k = 0; k < ELEMENTSOF(versions); k++)
                        if (sign(rpm_version_compare(versions[i], versions[k])) !=
                                        (i > k) - (i < k))
                                fail_msg("%s and %s", versions[i], versions[k]);
}

#define PAIRS 4000
#define PAIRS_AT_ONCE 1000 /* what one argument holds */

/* Up to eight characters of those that versions are made of. */
static void make_text(unsigned *seed, char text[static 9]) {
        static const char alphabet[] = "0019.._~^ab+1A";
        size_t n = 1 + (*seed >> 16) % 8;

        for (size_t i = 0; i < n; i++) {
                *seed = *seed * 1103515245 + 12345;
                text[i] = alphabet[(*seed >> 16) % (sizeof(alphabet) - 1)];
        }
        text[n] = '\0';
}

static char *make_version(unsigned *seed) {
        char version[9], release[9];

        make_text(seed, version);
        make_text(seed, release);
        switch (*seed >> 16 & 3) {
        case 0:
                return strdup(version);
        case 1:
                return strf("%u:%s-%s", *seed >> 20 & 3, version, release);
        default:
                return strf("%s-%s", version, release);
        }
}

static void assert_rpm_says_so(char *const *pairs) {
        _cleanup_free_ char *
                        words = strv_join(pairs, " "),
                       *output = NULL,
                       *script = strf("%%{lua: for a, b in string.gmatch('%s', '(%%S+) (%%S+)') do print(rpm.vercmp(a, b) .. '\\n') end}",
                                       words);
        _cleanup_strv_free_ char **answers = NULL;
        int status;

        assert_int_equal(spawn_capture(NULL, ARGV("rpm", "--eval", script), &output, &status), 0);
        assert_int_equal(status, 0);
        answers = strv_split(output, "\n");
        for (size_t i = 0; pairs[2 * i]; i++) {
                const char *a = pairs[2 * i], *b = pairs[2 * i + 1];

                if (sign(rpm_version_compare(a, b)) != atoi(answers[i]))
                        fail_msg("'%s' and '%s': rpm says %s", a, b, answers[i]);
        }
}

static void the_order_is_rpm_s(void **state _unused_) {
        unsigned seed = 11;

        if (!program_find("rpm", NULL))
                skip();
        for (size_t n = 0; n < PAIRS; n += PAIRS_AT_ONCE) {
                _cleanup_strv_free_ char **pairs = NULL;

                for (size_t i = 0; i < 2 * PAIRS_AT_ONCE; i++) {
                        _cleanup_free_ char *version = make_version(&seed);

                        assert_int_equal(strv_extend(&pairs, version), 0);
                }
                assert_rpm_says_so(pairs);
        }
}

static void what_stands_for_the_same_is_equal(void **state _unused_) {
        assert_int_equal(rpm_version_compare("1.0-1", "0:1.0-1"), 0);
        assert_int_equal(rpm_version_compare("1.010-1", "1.10-1"), 0);
        assert_int_equal(rpm_version_compare("1_0", "1.0"), 0);
        assert_int_equal(rpm_version_compare("", ""), 0);
}

static void any_text_has_a_place(void **state _unused_) {
        assert_true(rpm_version_compare("", "~") > 0);
        assert_true(rpm_version_compare("-", ":") == 0);
        assert_true(rpm_version_compare("\xff\xff", "1") < 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(they_are_in_order),
                cmocka_unit_test(the_order_is_rpm_s),
                cmocka_unit_test(what_stands_for_the_same_is_equal),
                cmocka_unit_test(any_text_has_a_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
