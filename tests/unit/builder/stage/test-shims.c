/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The small programs in front of PATH, run as package scripts run them, and what their notes turn
 * into. */

#include "stage/shims.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

static char path[64];
static Store *store;
static char *shims;

static int setup(void **state _unused_) {
        snprintf(path, sizeof(path), "/tmp/test-shims.XXXXXX");
        assert_non_null(mkdtemp(path));
        assert_int_equal(store_open(path, &store), 0);
        assert_int_equal(shims_write(store, &shims), 0);
        return 0;
}

static int teardown(void **state _unused_) {
        free(shims);
        store_free(store);
        return rm_rf(path);
}

/* Runs a shim with PATH = shims : a folder of programs that say their name and arguments. */
static int run_all(const char *name, char *const *arguments, char **ret_output) {
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *behind = path_join(path, "behind"),
                            *program = strf("%s/behind/%s", path, name),
                            *shim = path_join(shims, name),
                            *env_path = strf("PATH=%s:%s:/usr/bin:/bin", shims, behind);
        static const char text[] = "#!/bin/sh\necho \"real $*\"\n";
        char *const env[] = { env_path, NULL };
        int status;

        assert_int_equal(mkdir_p(behind, 0755), 0);
        assert_int_equal(write_file_atomic(program, text, strlen(text), 0755), 0);
        assert_int_equal(strv_extend(&argv, shim), 0);
        assert_int_equal(strv_extend_strv(&argv, arguments), 0);
        assert_int_equal(spawn_capture(&(SpawnOptions) { .env = env }, argv, ret_output, &status),
                        0);
        return status;
}

static int run(const char *name, const char *argument, char **ret_output) {
        return run_all(name, ARGV(argument), ret_output);
}

static void nothing_is_started(void **state _unused_) {
        static const char *const names[] = { "start-stop-daemon", "invoke-rc.d", "service",
                "update-initramfs", "depmod" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *output = NULL;

                assert_int_equal(run(names[i], "start", &output), 0);
                assert_string_equal(output, "");
        }
}

static void policy_forbids_every_action(void **state _unused_) {
        _cleanup_free_ char *output = NULL;

        assert_int_equal(run("policy-rc.d", "ssh", &output), 101);
}

static void the_manuals_index_waits_and_other_programs_do_not(void **state _unused_) {
        static const char *const names[] = { "setpriv", "runuser" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *held = NULL, *passed = NULL;

                assert_int_equal(run(names[i], "/usr/bin/mandb", &held), 0);
                assert_string_equal(held, "");
                assert_int_equal(run(names[i], "/usr/bin/other", &passed), 0);
                assert_string_equal(passed, "real /usr/bin/other\n");
        }
}

static void nothing_is_compiled_for_the_builders_kernel(void **state _unused_) {
        static const char *const verbs[] = { "build", "install", "autoinstall" };
        _cleanup_free_ char *added = NULL;

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                _cleanup_free_ char *output = NULL, *named = NULL, *wanted = NULL;

                assert_int_equal(run_all("dkms", ARGV(verbs[i], "-m", "nvidia", "-q"), &output), 0);
                assert_string_equal(output, "");
                assert_int_equal(run_all("dkms", ARGV(verbs[i], "nvidia/1", "-k", "6.1"), &named),
                                0);
                wanted = strf("real %s nvidia/1 -k 6.1\n", verbs[i]);
                assert_string_equal(named, wanted);
        }
        assert_int_equal(run_all("dkms", ARGV("add", "-m", "nvidia"), &added), 0);
        assert_string_equal(added, "real add -m nvidia\n");
}

static void note(const char *name, const char *text) {
        _cleanup_free_ char *p = strf("%s/later/%s", path, name);

        assert_int_equal(mkdir_parents(p, 0755), 0);
        assert_int_equal(write_file_atomic(p, text, strlen(text), 0644), 0);
}

static size_t later(char **ret_commands) {
        _cleanup_free_ char *folder = path_join(path, "later");
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_(later_list_done) LaterList l = {};

        assert_int_equal(mkdir_p(folder, 0755), 0);
        assert_int_equal(shims_later(folder, 3, &l), 0);
        for (size_t i = 0; i < l.n; i++)
                assert_int_equal(strv_push(&lines, strv_join(l.commands[i].argv, " ")), 0);
        *ret_commands = l.n > 0 ? strv_join(lines, "\n") : strdup("");
        return l.n;
}

static void without_notes_there_is_nothing_to_do(void **state _unused_) {
        _cleanup_free_ char *commands = NULL;

        assert_int_equal(later(&commands), 0);
}

static void many_wishes_for_byte_code_are_one_command(void **state _unused_) {
        _cleanup_free_ char *commands = NULL;

        note("py3compile", "/usr/share/b\n/usr/share/a\n/usr/share/b\n");
        assert_int_equal(later(&commands), 1);
        assert_string_equal(commands,
                        "python3 -m compileall -q -j3 --invalidation-mode timestamp /usr/lib/python3/dist-packages "
                        "/usr/share/a /usr/share/b");
}

static void certificates_are_made_once(void **state _unused_) {
        _cleanup_free_ char *commands = NULL;

        note("update-ca-certificates", "/etc/ca-certificates/update.d\n");
        assert_int_equal(later(&commands), 1);
        assert_string_equal(commands, "update-ca-certificates");
}

/* What a package's script may leave in the folder, which is the host's. */
static void a_link_among_the_notes_is_not_followed(void **state _unused_) {
        _cleanup_free_ char *folder = path_join(path, "later"),
                            *link = path_join(path, "later/py3compile"),
                            *secret = path_join(path, "secret");
        _cleanup_(later_list_done) LaterList l = {};

        assert_int_equal(write_file_atomic(secret, "/secret\n", 8, 0600), 0);
        assert_int_equal(mkdir_p(folder, 0755), 0);
        assert_int_equal(symlink("../secret", link), 0);
        assert_int_equal(shims_later(folder, 3, &l), -ELOOP);
}

static void a_pipe_among_the_notes_holds_nobody_up(void **state _unused_) {
        _cleanup_free_ char *folder = path_join(path, "later"),
                            *pipe = path_join(path, "later/py3compile");
        _cleanup_(later_list_done) LaterList l = {};

        assert_int_equal(mkdir_p(folder, 0755), 0);
        assert_int_equal(mkfifo(pipe, 0600), 0);
        alarm(10);
        assert_int_equal(shims_later(folder, 3, &l), -EINVAL);
        alarm(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(nothing_is_started),
                TEST(policy_forbids_every_action),
                TEST(the_manuals_index_waits_and_other_programs_do_not),
                TEST(nothing_is_compiled_for_the_builders_kernel),
                TEST(without_notes_there_is_nothing_to_do),
                TEST(many_wishes_for_byte_code_are_one_command),
                TEST(certificates_are_made_once),
                TEST(a_link_among_the_notes_is_not_followed),
                TEST(a_pipe_among_the_notes_holds_nobody_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
