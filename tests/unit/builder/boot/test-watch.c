/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/watch.h"

#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define FIXTURES "tests/fixtures/boot/"

typedef struct Text {
        char *text;
        size_t size;
} Text;

static void read_fixture(const char *name, Text *ret) {
        _cleanup_free_ char *path = path_join(getenv("TOP") ? getenv("TOP") : ".", FIXTURES),
                            *file = path_join(path, name);

        assert_int_equal(read_file(file, 1 << 20, &ret->text, &ret->size), 0);
}

static void start(BootWatch *w, const char *until) {
        char *problem = NULL;

        assert_int_equal(boot_watch_init(w, until, &problem), 0);
}

static void feed_console(BootWatch *w, const char *text, uint64_t now) {
        boot_watch_console(w, text, strlen(text), now);
}

static void feed_journal(BootWatch *w, const char *text, uint64_t now) {
        boot_watch_journal(w, text, strlen(text), now);
}

#define UNIT_ENTRY(id, unit, result)                                                             \
        "__MONOTONIC_TIMESTAMP=1\n_PID=1\nMESSAGE=x " unit "\nUNIT=" unit "\nJOB_RESULT=" result \
        "\nMESSAGE_ID=" id "\n\n"
#define STARTED(unit) UNIT_ENTRY("39f53479d3a045ac8e11786248231fbf", unit, "done")
#define FAILED(unit) UNIT_ENTRY("be02cf6855d2428ba40df7e9d022f03d", unit, "failed")

static void recorded_console_goes_through_all_phases(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;
        Text t;

        read_fixture("multi-user.console", &t);
        start(&w, "multi-user");
        for (size_t i = 0; i < t.size; i += 13) /* torn anywhere */
                boot_watch_console(&w, t.text + i, MIN(t.size - i, (size_t) 13), 10 + i);
        free(t.text);
        assert_int_equal(w.phase, BOOT_SERVICES);
        assert_true(w.reached_at[BOOT_FIRMWARE] > 0 &&
                        w.reached_at[BOOT_FIRMWARE] < w.reached_at[BOOT_LOADER]);
        assert_true(w.reached_at[BOOT_LOADER] < w.reached_at[BOOT_KERNEL]);
        assert_non_null(w.systemd);
        assert_int_equal(boot_watch_verdict(&w, 10 + 60 * USEC_PER_SEC), BOOT_REACHED);
        assert_string_equal(w.evidence, "console");
}

static void recorded_journal_reaches_multi_user(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;
        Text t;

        read_fixture("multi-user.export", &t);
        start(&w, "multi-user");
        for (size_t i = 0; i < t.size; i++)
                boot_watch_journal(&w, t.text + i, 1, 1 + i);
        free(t.text);
        assert_false(w.journal.broken);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_REACHED);
        assert_string_equal(w.evidence, "journal");
}

static void journal_of_another_process_proves_nothing(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        feed_journal(&w,
                        "_PID=77\nUNIT=multi-user.target\nMESSAGE_ID=39f53479d3a045ac8e11786248231fbf\nJOB_RESULT=done\n\n",
                        1);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_WAITING);
}

static void other_target_is_not_the_marker(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "ready");
        feed_journal(&w, STARTED("multi-user.target"), 1);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_WAITING);
        feed_journal(&w, STARTED("node-ready.target"), 2);
        assert_int_equal(boot_watch_verdict(&w, 2 + BOOT_GRACE_NODE_USEC), BOOT_REACHED);
}

#define SAID(code, step, message)                                                     \
        "_PID=300\n_SYSTEMD_UNIT=firstbootd.service\nMESSAGE=" message "\nCODE=" code \
        "\nSTEP=" step "\n\n"

static void ready_waits_a_moment_for_the_nodes_own_verdict(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "ready");
        feed_journal(&w, STARTED("node-ready.target"), 1);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_WAITING);
        feed_journal(&w, SAID("event.degraded", "node", "Node is degraded"), 2);
        assert_int_equal(boot_watch_verdict(&w, 2), BOOT_REACHED);
        assert_string_equal(w.node.verdict, "degraded");
}

static void console_is_believed_after_its_grace(void **state _unused_) {
        static const struct {
                const char *line;
                bool journal;
                uint64_t grace;
        } cases[] = {
                { "[  OK  ] Reached target multi-user.target - Multi-User System.\r\n", false,
                                BOOT_GRACE_SILENT_USEC },
                { "[  OK  ] Reached target Multi-User System.\r\n", false, BOOT_GRACE_SILENT_USEC },
                { "[   12.0] systemd[1]: Reached target Multi-User System.\n", false,
                                BOOT_GRACE_SILENT_USEC },
                { "[  OK  ] Reached target multi-user.target - Multi-User System.\r\n", true,
                                BOOT_GRACE_USEC },
                { "node login: ", false, BOOT_GRACE_LOGIN_USEC },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(boot_watch_done) BootWatch w;

                start(&w, "multi-user");
                if (cases[i].journal)
                        feed_journal(&w, "MESSAGE=x\n\n", 10);
                feed_console(&w, cases[i].line, 10);
                assert_int_equal(boot_watch_verdict(&w, 9),
                                BOOT_WAITING); /* asked with a clock read earlier */
                assert_int_equal(boot_watch_verdict(&w, 9 + cases[i].grace), BOOT_WAITING);
                assert_int_equal(boot_watch_verdict(&w, 10 + cases[i].grace), BOOT_REACHED);
        }
}

static void login_prompt_proves_nothing_beside_a_journal(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        feed_journal(&w, "MESSAGE=x\n\n", 1);
        feed_console(&w, "node login: ", 1);
        assert_int_equal(boot_watch_verdict(&w, 3600 * USEC_PER_SEC), BOOT_WAITING);
}

static void last_login_is_no_login_prompt(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        feed_console(&w, "Last login: Mon\nfoo\n", 1);
        assert_int_equal(w.login_at, 0);
}

static void dead_ends_are_failures(void **state _unused_) {
        static const char *const lines[] = {
                "[    7.7] Kernel panic - not syncing: VFS: Unable to mount root fs\n",
                "node login: [    7.7] Kernel panic - not syncing: Fatal exception\n",
                "You are in emergency mode. After logging in, type \"journalctl -xb\"\n",
                "Give root password for maintenance\n(or press Control-D to continue): ",
                "grub rescue> ",
                "grub> ",
                "\r\n(initramfs) ",
                "ALERT!  UUID=x does not exist.  Dropping to a shell!\n",
                "BdsDxe: No bootable option or device was found.\n",
                "UEFI Interactive Shell v2.2\n",
                "No bootable device.\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_(boot_watch_done) BootWatch w;

                start(&w, "multi-user");
                feed_console(&w, "node login: ", 1);
                feed_console(&w, "\n", 1);
                feed_console(&w, lines[i], 1);
                if (boot_watch_verdict(&w, 1) != BOOT_FAILED)
                        fail_msg("not seen as a failure: %s", lines[i]);
                assert_non_null(w.why);
        }
}

static void emergency_target_in_the_journal_is_a_failure(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        feed_journal(&w, STARTED("emergency.target"), 1);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_FAILED);
}

static void failed_marker_is_a_failure(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "ready");
        feed_journal(&w,
                        UNIT_ENTRY("be02cf6855d2428ba40df7e9d022f03d", "node-ready.target",
                                        "dependency"),
                        1);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_FAILED);
}

static void verdict_of_firstbootd_ends_the_wait_for_ready(void **state _unused_) {
        static const char verdict[] =
                        "_PID=300\n_SYSTEMD_UNIT=firstbootd.service\nMESSAGE=The node is not ready: scratch failed\n"
                        "MESSAGE_ID=024713687dc641a4896ea7c35e688394\n\n";
        _cleanup_(boot_watch_done) BootWatch ready, multi_user;

        start(&ready, "ready");
        feed_journal(&ready, verdict, 1);
        assert_int_equal(boot_watch_verdict(&ready, 1), BOOT_FAILED);
        assert_non_null(strstr(ready.why, "scratch failed"));
        start(&multi_user, "multi-user");
        feed_journal(&multi_user, verdict, 1);
        assert_int_equal(boot_watch_verdict(&multi_user, 1), BOOT_WAITING);
}

/* The number in boot-watch.c is the one that firstbootd sends. */
static void verdict_of_firstbootd_has_its_number(void **state _unused_) {
        _cleanup_free_ char *path = path_join(getenv("TOP") ? getenv("TOP") : ".",
                                            "firstboot/contract/codes.c"),
                            *text = NULL;

        assert_int_equal(read_file(path, 1 << 20, &text, NULL), 0);
        assert_non_null(strstr(text, "\"event.failed\", \"024713687dc641a4896ea7c35e688394\""));
}

static void failed_units_are_those_that_did_not_recover(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        feed_journal(&w,
                        FAILED("a.service") FAILED("b.service") FAILED("a.service")
                                        STARTED("b.service"),
                        1);
        feed_journal(&w, UNIT_ENTRY("be02cf6855d2428ba40df7e9d022f03d", "c.service", "dependency"),
                        1);
        assert_int_equal(strv_length(w.failed), 1);
        assert_string_equal(w.failed[0], "a.service");
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_WAITING);
}

#define FINISHED(pid) \
        "_PID=" pid   \
        "\nMESSAGE=Startup finished in 1s.\nMESSAGE_ID=b07a249cd024414a82dd00cd181378ff\n\n"

static void the_marker_is_not_the_end_of_the_boot(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        feed_journal(&w, STARTED("multi-user.target"), 1);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_REACHED);
        assert_false(w.settled);
        feed_journal(&w, FAILED("late.service") FINISHED("1"), 2);
        assert_true(w.settled);
        assert_string_equal(w.failed[0], "late.service");
}

static void nobody_but_systemd_says_that_the_boot_has_settled(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        feed_journal(&w, FINISHED("300"), 1);
        assert_false(w.settled);
}

static void first_verdict_stays(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        feed_journal(&w, STARTED("multi-user.target"), 1);
        feed_console(&w, "Kernel panic - not syncing: x\n", 2);
        assert_int_equal(boot_watch_verdict(&w, 2), BOOT_REACHED);
}

static void pattern_matches_console_and_journal(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w, v;

        start(&w, "disk [0-9]+ striped");
        feed_console(&w, "scratch: disk 4 stri", 1);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_WAITING);
        feed_console(&w, "ped\n", 1);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_REACHED);
        start(&v, "disk [0-9]+ striped");
        feed_journal(&v, "_PID=9\nMESSAGE=disk 4 striped\n\n", 1);
        assert_int_equal(boot_watch_verdict(&v, 1), BOOT_REACHED);
}

static void bad_pattern_is_explained(void **state _unused_) {
        _cleanup_free_ char *problem = NULL;
        BootWatch w;

        assert_int_equal(boot_watch_init(&w, "(", &problem), -EINVAL);
        assert_non_null(problem);
}

static void binary_fields_and_garbage(void **state _unused_) {
        static const char binary[] = "MESSAGE\n\x05\0\0\0\0\0\0\0a\nb\nc\nPRIORITY=3\n\n";
        _cleanup_(boot_watch_done) BootWatch w, v;

        start(&w, "b");
        boot_watch_journal(&w, binary, sizeof(binary) - 1, 1);
        assert_int_equal(w.journal.n_entries, 1);
        assert_int_equal(boot_watch_verdict(&w, 1), BOOT_REACHED);
        start(&v, "multi-user");
        boot_watch_journal(&v, "MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff", 16, 1);
        assert_true(v.journal.broken);
        feed_console(&v, "[  OK  ] Reached target multi-user.target\n", 1);
        assert_int_equal(boot_watch_verdict(&v, 1 + BOOT_GRACE_SILENT_USEC), BOOT_REACHED);
}

static void escape_sequences_are_taken_out(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        feed_console(&w,
                        "[\033[0;32m  OK  \033[0m] Reached target \033[0;1;39mmulti-user.target\033[0m - Multi-User "
                        "System.\r\n\033]0;title\a",
                        1);
        assert_string_equal(console_kept_line(&w.console, 0),
                        "[  OK  ] Reached target multi-user.target - Multi-User System.");
        assert_int_equal(boot_watch_verdict(&w, 1 + BOOT_GRACE_SILENT_USEC), BOOT_REACHED);
}

static void last_lines_are_kept(void **state _unused_) {
        _cleanup_(boot_watch_done) BootWatch w;

        start(&w, "multi-user");
        for (int i = 0; i < 100; i++) {
                char line[32];
                snprintf(line, sizeof(line), "line %d\n", i);
                feed_console(&w, line, 1);
        }
        assert_int_equal(console_kept(&w.console), CONSOLE_KEPT_LINES);
        assert_string_equal(console_kept_line(&w.console, 0), "line 60");
        assert_string_equal(console_kept_line(&w.console, CONSOLE_KEPT_LINES - 1), "line 99");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(recorded_console_goes_through_all_phases),
                cmocka_unit_test(recorded_journal_reaches_multi_user),
                cmocka_unit_test(journal_of_another_process_proves_nothing),
                cmocka_unit_test(other_target_is_not_the_marker),
                cmocka_unit_test(console_is_believed_after_its_grace),
                cmocka_unit_test(login_prompt_proves_nothing_beside_a_journal),
                cmocka_unit_test(last_login_is_no_login_prompt),
                cmocka_unit_test(dead_ends_are_failures),
                cmocka_unit_test(emergency_target_in_the_journal_is_a_failure),
                cmocka_unit_test(failed_marker_is_a_failure),
                cmocka_unit_test(ready_waits_a_moment_for_the_nodes_own_verdict),
                cmocka_unit_test(verdict_of_firstbootd_ends_the_wait_for_ready),
                cmocka_unit_test(verdict_of_firstbootd_has_its_number),
                cmocka_unit_test(failed_units_are_those_that_did_not_recover),
                cmocka_unit_test(the_marker_is_not_the_end_of_the_boot),
                cmocka_unit_test(nobody_but_systemd_says_that_the_boot_has_settled),
                cmocka_unit_test(first_verdict_stays),
                cmocka_unit_test(pattern_matches_console_and_journal),
                cmocka_unit_test(bad_pattern_is_explained),
                cmocka_unit_test(binary_fields_and_garbage),
                cmocka_unit_test(escape_sequences_are_taken_out),
                cmocka_unit_test(last_lines_are_kept),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
