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

static void the_controllers_clock_is_local_time(void **state) {
        int64_t t;

        (void) state;
        setenv("TZ", "UTC", 1);
        tzset();
        assert_return_code(probe_clock("Configuration data as of 2026-01-02T03:04:05\nx", &t), 0);
        assert_true(t == 1767323045);
        assert_int_equal(probe_clock("Configuration data as of soon", &t), -EBADMSG);
        assert_int_equal(probe_clock("", &t), -EBADMSG);
}

static void a_nodes_state_and_reason_are_found(void **state) {
        NodeInfo info;

        (void) state;
        assert_return_code(
                        node_parse("NodeName=n1 Arch=x86_64 State=IDLE+DRAIN ThreadsPerCore=1 Reason=[firstboot] gpu.missing: 7 of 8 "
                                   "[root@2026-01-02T03:04:05]\n",
                                        &info),
                        0);
        assert_string_equal(info.state, "IDLE+DRAIN");
        assert_string_equal(info.reason, "[firstboot] gpu.missing: 7 of 8");
        assert_int_equal(node_parse("Node n2 not found", &info), -ENOENT);
}

static void a_word_within_a_word_is_no_state(void **state) {
        (void) state;
        assert_true(node_state_has("IDLE+DRAIN", "DRAIN"));
        assert_false(node_state_has("IDLE+DRAINING", "DRAIN"));
        assert_true(node_state_has("DOWN*+DRAIN", "DRAIN"));
}

static void a_node_that_does_not_answer_is_not_registered(void **state) {
        static const struct {
                const char *state;
                bool registered;
        } table[] = {
                { "IDLE", true },
                { "MIXED", true },
                { "IDLE+DYNAMIC_NORM", true },
                { "IDLE+DRAIN", true },
                { "IDLE*", false },
                { "DOWN", false },
                { "DOWN*+DRAIN", false },
                { "UNKNOWN", false },
                { "FUTURE", false },
                { "IDLE+NOT_RESPONDING", false },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_int_equal(node_state_is_registered(table[i].state), table[i].registered);
}

static void the_client_configuration_names_all_controllers(void **state) {
        _cleanup_json_ json_object *o = json_tokener_parse(
                        "{\"cluster_name\":\"c\",\"controllers\":[\"a:7000\",\"b\"]}");
        _cleanup_free_ char *text = client_conf(o);

        (void) state;
        assert_non_null(strstr(text, "SlurmctldHost=a\nSlurmctldHost=b\nSlurmctldPort=7000\n"));
        assert_non_null(strstr(text, "ClusterName=c\n"));
}

static void a_drain_reason_is_one_short_line(void **state) {
        char longer[500];

        (void) state;
        memset(longer, 'x', sizeof(longer) - 1);
        longer[sizeof(longer) - 1] = '\0';
        _cleanup_free_ char *a = drain_reason(
                                            "scratch.foreign-signature", "disk \"X\"\nhas 'ext4'"),
                            *b = drain_reason("a.b", longer);
        assert_string_equal(a, "[firstboot] scratch.foreign-signature: disk  X  has  ext4 ");
        assert_int_equal(strlen(b), 200);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(scontrols_words_are_understood),
                cmocka_unit_test(the_controllers_clock_is_local_time),
                cmocka_unit_test(a_nodes_state_and_reason_are_found),
                cmocka_unit_test(a_word_within_a_word_is_no_state),
                cmocka_unit_test(a_node_that_does_not_answer_is_not_registered),
                cmocka_unit_test(the_client_configuration_names_all_controllers),
                cmocka_unit_test(a_drain_reason_is_one_short_line),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
