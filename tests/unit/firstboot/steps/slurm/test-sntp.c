/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A time server's answers. */

#include "steps/slurm/sntp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const unsigned char question[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

/* An answer of a stratum 8 server whose transmit timestamp has these seconds since 1900. */
static void make(unsigned char p[SNTP_SIZE], uint32_t seconds) {
        memset(p, 0, SNTP_SIZE);
        p[0] = 0x24;
        p[1] = 8;
        memcpy(p + 24, question, sizeof(question));
        for (unsigned i = 0; i < 4; i++)
                p[40 + i] = (unsigned char) (seconds >> (24 - 8 * i));
}

static void seconds_are_counted_from_1970(void **state) {
        unsigned char p[SNTP_SIZE];
        int64_t t = 0;

        (void) state;
        make(p, 3976214400u); /* 1 January 2026 */
        assert_int_equal(sntp_parse(p, question, &t), 0);
        assert_int_equal(t, 1767225600);
}

static void the_next_era_begins_in_2036(void **state) {
        unsigned char p[SNTP_SIZE];
        int64_t t = 0;

        (void) state;
        make(p, 1);
        assert_int_equal(sntp_parse(p, question, &t), 0);
        assert_int_equal(t, INT64_C(2085978497));
}

static void an_answer_to_another_question_does_not_count(void **state) {
        static const unsigned char other[8] = { 9 };
        unsigned char p[SNTP_SIZE];
        int64_t t = 7;

        (void) state;
        make(p, 3976214400u);
        assert_int_equal(sntp_parse(p, other, &t), -EBADMSG);
        assert_int_equal(t, 7);
}

static void a_server_that_is_not_synchronised_does_not_count(void **state) {
        unsigned char p[SNTP_SIZE];
        int64_t t;

        (void) state;
        make(p, 3976214400u);
        p[0] = 0xe4;
        assert_int_equal(sntp_parse(p, question, &t), -EBADMSG);
        make(p, 3976214400u);
        p[1] = 0;
        assert_int_equal(sntp_parse(p, question, &t), -EBADMSG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(seconds_are_counted_from_1970),
                cmocka_unit_test(the_next_era_begins_in_2036),
                cmocka_unit_test(an_answer_to_another_question_does_not_count),
                cmocka_unit_test(a_server_that_is_not_synchronised_does_not_count),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
