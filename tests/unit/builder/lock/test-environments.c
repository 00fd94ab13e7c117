/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/internal.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LOCK(python)                                                                           \
        "{ \"version\": 1, \"recipe\": \"r\", \"epoch\": 1, \"origins\": [], \"stages\": [], " \
        "\"artifacts\": [], \"python\": " python " }"
#define ENVIRONMENT(path, wheels)                                                          \
        LOCK("[ { \"environment\": \"" path "\", \"request\": \"" SHA                      \
             "\", \"target\": \"cpython-3.13.5-glibc-2.41-x86_64\", \"wheels\": [ " wheels \
             " ] } ]")
#define WHEEL(name, file)                                                                     \
        "{ \"name\": \"" name "\", \"version\": \"1\", \"file\": \"" file "\", \"size\": 1, " \
        "\"sha256\": \"" SHA "\" }"

static char path[] = "/tmp/imgbuild-environments-XXXXXX";
static char said[4096];

static void remember(int level, const char *line, void *userdata) {
        (void) level;
        (void) userdata;
        strncat(said, line, sizeof(said) - strlen(said) - 2);
        strcat(said, "\n");
}

static int setup(void **state) {
        (void) state;
        close(mkstemp(path));
        log_set_writer(remember, NULL);
        return 0;
}

static int teardown(void **state) {
        (void) state;
        log_set_writer(NULL, NULL);
        unlink(path);
        return 0;
}

static void refused(const char *text, const char *because) {
        Lock *l = NULL;

        said[0] = '\0';
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
        assert_int_equal(lock_read(path, &l), -EINVAL);
        if (!strstr(said, because))
                fail_msg("said \"%s\", not \"%s\"", said, because);
}

static Lock *sample(void) {
        LockedEnvironment *e;
        Lock *l;

        assert_int_equal(lock_new("r", &l), 0);
        assert_int_equal(lock_add_environment(l, "/opt/b", SHA, "t", &e), 0);
        assert_int_equal(lock_add_environment(l, "/opt/a", SHA, "t", &e), 0);
        assert_int_equal(locked_environment_add(e, &(LockedWheel) { "pip", "26.3",
                                                                   "pip-26.3-py3-none-any.whl",
                                                                   NULL, "installer", SHA, 3 }),
                        0);
        assert_int_equal(
                        locked_environment_add(e,
                                        &(LockedWheel) { "torch", "2.6.0+cpu",
                                                        "torch-2.6.0+cpu-cp313-cp313-linux_x86_64.whl",
                                                        "BSD-3-Clause", NULL, SHA, 800000000 }),
                        0);
        lock_sort(l);
        return l;
}

static void what_is_written_is_read_back(void **state) {
        _cleanup_lock_free_ Lock *l = sample(), *again = NULL;
        _cleanup_free_ char *before = NULL, *after = NULL;

        (void) state;
        assert_int_equal(lock_write(l, path), 0);
        assert_int_equal(lock_read(path, &again), 0);
        assert_int_equal(lock_to_text(l, &before), 0);
        assert_int_equal(lock_to_text(again, &after), 0);
        assert_string_equal(before, after);
        assert_int_equal(again->n_environments, 2);
}

static void the_installer_comes_last(void **state) {
        _cleanup_lock_free_ Lock *l = sample();
        const LockedEnvironment *e = lock_find_environment(l, "/opt/a");

        (void) state;
        assert_string_equal(e->wheels[0].name, "torch");
        assert_string_equal(e->wheels[1].role, "installer");
}

static void a_lock_without_environments_has_no_such_key(void **state) {
        _cleanup_lock_free_ Lock *l = NULL;
        _cleanup_free_ char *text = NULL;

        (void) state;
        assert_int_equal(lock_new("r", &l), 0);
        assert_int_equal(lock_to_text(l, &text), 0);
        assert_null(strstr(text, "python"));
}

static void an_environment_lies_below_opt(void **state) {
        (void) state;
        refused(ENVIRONMENT("/usr/lib", WHEEL("x", "x-1-py3-none-any.whl")), "a folder below /opt");
        refused(ENVIRONMENT("/opt/../usr", WHEEL("x", "x-1-py3-none-any.whl")),
                        "a folder below /opt");
}

static void a_wheels_file_is_a_name(void **state) {
        (void) state;
        refused(ENVIRONMENT("/opt/x", WHEEL("x", "../x.whl")), "a wheel's file name");
        refused(ENVIRONMENT("/opt/x", WHEEL("-x", "x-1-py3-none-any.whl")), "a package's name");
        refused(ENVIRONMENT("/opt/x", WHEEL("x", "y-1-py3-none-any.whl")), "no wheel of \"x\"");
}

static void a_wheel_is_listed_once(void **state) {
        (void) state;
        refused(ENVIRONMENT("/opt/x", WHEEL("x", "x-1-py3-none-any.whl") ", " WHEEL(
                                                      "x", "x-2-py3-none-any.whl")),
                        "wheel \"x\" is listed twice");
}

static void what_is_no_list_of_environments_is_refused(void **state) {
        (void) state;
        refused(LOCK("{}"), "\"python\" must be a list");
        refused(LOCK("[ 1 ]"), "\"wheels\" must be a list");
}

static void a_moved_wheel_is_a_change_of_its_environment(void **state) {
        _cleanup_lock_free_ Lock *before = sample(), *after = sample();
        _cleanup_lock_diff_ LockDiff d = {};

        (void) state;
        strcpy(after->environments[0].wheels[0].version, "2.7.0");
        assert_int_equal(lock_diff(before, after, &d), 0);
        assert_int_equal(d.n, 1);
        assert_string_equal(d.changes[0].name, "torch");
        assert_string_equal(d.changes[0].stage, "/opt/a");
        assert_string_equal(d.changes[0].after, "2.7.0");
}

static void the_first_overlay_leads_an_environment(void **state) {
        Overlay a = { .python.environment = (char *) "/opt/x" }, none = {},
                b = { .python.environment = (char *) "/opt/x" },
                c = { .python.environment = (char *) "/opt/y" },
                *overlays[] = { &none, &a, &b, &c };
        const Recipe recipe = { .overlays = overlays, .n_overlays = 4 };
        const bool leads[] = { false, true, false, true };

        (void) state;
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(lock_leads_environment(&recipe, i), leads[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_written_is_read_back),
                cmocka_unit_test(the_installer_comes_last),
                cmocka_unit_test(a_lock_without_environments_has_no_such_key),
                cmocka_unit_test(an_environment_lies_below_opt),
                cmocka_unit_test(a_wheels_file_is_a_name),
                cmocka_unit_test(a_wheel_is_listed_once),
                cmocka_unit_test(what_is_no_list_of_environments_is_refused),
                cmocka_unit_test(a_moved_wheel_is_a_change_of_its_environment),
                cmocka_unit_test(the_first_overlay_leads_an_environment),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
