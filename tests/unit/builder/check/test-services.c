/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* services.*: each fault alone, in a tree that is otherwise right. The rule that is for it finds
 * it, and no other does. */

#include "check-fixture.h"

static void test_dangling_service(void **state) {
        put_link("etc/systemd/system/multi-user.target.wants/gone.service",
                        "/usr/lib/systemd/system/gone.service");
        assert_found(*state, "services.enabled", "gone.service is enabled");
}

static void test_enabled_units(void **state) {
        CheckFixture *f = *state;
        _cleanup_strv_free_ char **units = NULL;
        Tree t;

        put_link("etc/systemd/system/multi-user.target.wants/gone.service",
                        "/usr/lib/systemd/system/gone.service");
        put_link("etc/systemd/system/x.service.requires/ssh.service",
                        "/usr/lib/systemd/system/ssh.service");
        put_link("etc/systemd/system/ssh.service.d/ssh.service",
                        "/usr/lib/systemd/system/ssh.service");
        assert_int_equal(tree_open(f->folder, NULL, &t), 0);
        assert_int_equal(enabled_units(&t, &units), 0);
        tree_done(&t);
        assert_int_equal(strv_length(units), 1);
        assert_string_equal(units[0], "ssh.service");
}

static void test_verify_output(void **state) {
        CheckFixture *f = *state;

        assert_int_equal(
                        verify_findings("services.verify",
                                        "/etc/systemd/system/bad.service:3: Unknown key 'Bogus' in section [Unit], ignoring.\n"
                                        "bad.service: Command /usr/bin/x is not executable: No such file or directory\n"
                                        "other.service: Failed to create other.service/start: Unit gone.service not found.\n",
                                        1, &f->findings),
                        0);
        assert_int_equal(f->findings.n, 2);
        assert_non_null(strstr(f->findings.findings[0].remedy, "correct bad.service"));
        assert_non_null(strstr(f->findings.findings[1].found, "gone.service not found"));
}

static void test_verify_without_output(void **state) {
        CheckFixture *f = *state;

        assert_int_equal(verify_findings("services.verify", "", 127, &f->findings), 0);
        assert_int_equal(f->findings.n, 1);
        assert_non_null(strstr(f->findings.findings[0].found, "exit code 127"));
}

static void test_verify_passes(void **state) {
        CheckFixture *f = *state;

        assert_int_equal(verify_findings("services.verify", "some remark\n", 0, &f->findings), 0);
        assert_int_equal(f->findings.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(test_dangling_service),
                TREE(test_enabled_units),
                TREE(test_verify_output),
                TREE(test_verify_without_output),
                TREE(test_verify_passes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
