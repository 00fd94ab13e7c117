/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* scontrol's words and what they mean. */

#include "steps/slurm/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

static void scontrols_words_are_understood(void **state) {
        static const struct {
                int code;
                const char *output;
                ProbeKind kind;
        } table[] = {
                { 0, "Configuration data as of 2026-01-02T03:04:05\nAccountingStorage…",
                                PROBE_GOOD },
                { 1, "Configuration data as of 2026-01-02T03:04:05\n", PROBE_OTHER },
                { 1, "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)\n",
                                PROBE_UNREACHABLE },
                { 1, "scontrol: error: Munge decode failed: Invalid credential\nslurm_load_ctl_conf error: Zero Bytes",
                                PROBE_MISMATCH },
                { 1, "scontrol: error: Munge decode failed: Rewound credential\n", PROBE_CLOCK },
                { 1, "scontrol: error: Munge decode failed: Expired credential\n", PROBE_CLOCK },
                { 1, "scontrol: error: Munge encode failed: Failed to access \"/run/munge/munge.socket.2\": No such file",
                                PROBE_MUNGE },
                { 1, "", PROBE_OTHER },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_int_equal(probe_judge(table[i].code, table[i].output), table[i].kind);
}

static void the_controllers_clock_is_told_in_utc(void **state) {
        int64_t t;

        (void) state;
        /* Whatever the zone: there, this hour comes twice. */
        setenv("TZ", "Europe/Berlin", 1);
        tzset();
        assert_return_code(probe_clock("Configuration data as of 2026-10-25T02:30:00\nx", &t), 0);
        assert_true(t == 1792895400);
        assert_return_code(probe_clock("Configuration data as of 2026-01-02T03:04:05\nx", &t), 0);
        assert_true(t == 1767323045);
        assert_int_equal(probe_clock("Configuration data as of soon", &t), -EBADMSG);
        assert_int_equal(probe_clock("", &t), -EBADMSG);
}

static void without_a_user_the_controllers_is_slurms_default(void **state) {
        _cleanup_json_ json_object *o =
                        json_tokener_parse("{\"cluster_name\":\"c\",\"controllers\":[\"a\"]}");
        _cleanup_free_ char *text = client_conf(o);

        (void) state;
        assert_null(strstr(text, "SlurmUser"));
        assert_null(strstr(text, "(null)"));
}

static void the_client_configuration_names_all_controllers(void **state) {
        _cleanup_json_ json_object *o = json_tokener_parse(
                        "{\"cluster_name\":\"c\",\"slurm_user\":\"slurm\",\"controllers\":[\"a:7000\",\"b\"]}");
        _cleanup_free_ char *text = client_conf(o);

        (void) state;
        assert_non_null(strstr(text, "SlurmctldHost=a\nSlurmctldHost=b\nSlurmctldPort=7000\n"));
        assert_non_null(strstr(text, "ClusterName=c\n"));
        assert_non_null(strstr(text, "SlurmUser=slurm\n"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(scontrols_words_are_understood),
                cmocka_unit_test(the_controllers_clock_is_told_in_utc),
                cmocka_unit_test(without_a_user_the_controllers_is_slurms_default),
                cmocka_unit_test(the_client_configuration_names_all_controllers),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
