/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* On a double of cgroup v2: an ordinary folder, in which mkdir() and rmdir() do as the kernel does
 * there. What the kernel itself does is seen in a machine: tests/e2e/20-cpu-boot.sh. */

#include "sandbox/limits.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static const char *const attributes[][2] = {
        { "cgroup.controllers", "cpu memory pids\n" },
        { "cgroup.kill", "" },
        { "cgroup.procs", "" },
        { "cgroup.subtree_control", "" },
        { "cgroup.type", "domain\n" },
        { "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n" },
        { "memory.max", "max\n" },
        { "memory.oom.group", "0\n" },
        { "memory.swap.max", "max\n" },
        { "pids.events", "max 0\n" },
        { "pids.max", "max\n" },
};

static char mount[64], self[64];

static char *at(const char *name) {
        static char path[2][256];
        static unsigned i;

        i = !i;
        snprintf(path[i], sizeof(path[i]), "%s/%s", mount, name);
        return path[i];
}

static void put(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

/* A write to the double leaves the old value's end, where the kernel's attribute takes the new one
 * alone. */
static void assert_has(const char *path, const char *text) {
        _cleanup_free_ char *is = NULL;

        assert_int_equal(read_file(path, 65536, &is, NULL), 0);
        if (*text)
                assert_non_null(startswith(is, text));
        else
                assert_string_equal(is, "");
}

/* The kernel's: a new cgroup has its files, and they go with it. */
int mkdir(const char *path, mode_t mode) {
        if (syscall(SYS_mkdirat, AT_FDCWD, path, mode) < 0)
                return -1;
        for (size_t i = 0; i < ELEMENTSOF(attributes); i++) {
                _cleanup_free_ char *file = path_join(path, attributes[i][0]);

                put(file, attributes[i][1]);
        }
        return 0;
}

int rmdir(const char *path) {
        for (size_t i = 0; i < ELEMENTSOF(attributes); i++) {
                _cleanup_free_ char *file = path_join(path, attributes[i][0]);

                (void) unlink(file);
        }
        return (int) syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

/* Ours is /unit, with nobody but us in it. */
static int set_up(void **state _unused_) {
        char pid[16];

        strcpy(mount, "/tmp/test-cgroup-XXXXXX");
        assert_non_null(mkdtemp(mount));
        snprintf(self, sizeof(self), "%s.self", mount);
        put(self, "9:name=systemd:/\n0::/unit\n");
        assert_int_equal(mkdir(at("unit"), 0755), 0);
        snprintf(pid, sizeof(pid), "%d\n", (int) getpid());
        put(at("unit/cgroup.procs"), pid);
        return 0;
}

static int tear_down(void **state _unused_) {
        (void) unlink(self);
        return rm_rf(mount);
}

static void make(uint64_t memory, uint64_t processes, Cgroup *ret) {
        _cleanup_free_ char *home = NULL;

        assert_int_equal(cgroup_home(mount, self, &home), 0);
        assert_int_equal(cgroup_make(home, memory, processes, ret), 0);
}

static void a_commands_cgroup_has_its_limits(void **state _unused_) {
        _cleanup_(cgroup_done) Cgroup c = CGROUP_NONE;
        _cleanup_free_ char *memory = NULL, *swap = NULL, *group = NULL, *pids = NULL;

        make(64 * MIB, 100, &c);
        assert_non_null(startswith(c.path, at("unit/imgbuild-stage-")));
        assert_has(memory = path_join(c.path, "memory.max"), "67108864");
        assert_has(swap = path_join(c.path, "memory.swap.max"), "0");
        assert_has(group = path_join(c.path, "memory.oom.group"), "1");
        assert_has(pids = path_join(c.path, "pids.max"), "100");
}

static void we_go_into_one_below_and_hand_controllers_on(void **state _unused_) {
        _cleanup_free_ char *home = NULL, *pid = strf("%d", (int) getpid());

        assert_int_equal(cgroup_home(mount, self, &home), 0);
        assert_string_equal(home, at("unit"));
        assert_has(at("unit/imgbuild-self/cgroup.procs"), pid);
        assert_has(at("unit/cgroup.subtree_control"), "+memory +pids");
}

static void once_moved_the_home_is_above(void **state _unused_) {
        _cleanup_free_ char *home = NULL;

        put(self, "0::/unit/imgbuild-self\n");
        put(at("unit/cgroup.subtree_control"), "memory pids\n");
        assert_int_equal(cgroup_home(mount, self, &home), 0);
        assert_string_equal(home, at("unit"));
        assert_int_equal(access(at("unit/imgbuild-self"), F_OK), -1);
}

static void others_processes_are_not_moved(void **state _unused_) {
        _cleanup_free_ char *home = NULL, *pids = strf("1\n%d\n", (int) getpid());

        put(at("unit/cgroup.procs"), pids);
        assert_int_equal(cgroup_home(mount, self, &home), -EOPNOTSUPP);
        assert_int_equal(access(at("unit/imgbuild-self"), F_OK), -1);
        assert_has(at("unit/cgroup.subtree_control"), "");
}

static void all_of_a_delegated_unit_is_moved(void **state _unused_) {
        _cleanup_free_ char *home = NULL, *pids = strf("%d\n77\n", (int) getpid());

        if (setxattr(at("unit"), "user.delegate", "1", 1, 0) < 0 &&
                        setxattr(at("unit"), "trusted.delegate", "1", 1, 0) < 0)
                skip(); /* this /tmp keeps no such attribute */
        put(at("unit/cgroup.procs"), pids);
        assert_int_equal(cgroup_home(mount, self, &home), 0);
        assert_has(at("unit/imgbuild-self/cgroup.procs"), "77");
}

static void without_the_controllers_there_is_none(void **state _unused_) {
        _cleanup_free_ char *home = NULL;

        put(at("unit/cgroup.controllers"), "cpu memory\n");
        assert_int_equal(cgroup_home(mount, self, &home), -EOPNOTSUPP);
}

static void on_version_1_there_is_none(void **state _unused_) {
        _cleanup_free_ char *home = NULL;

        put(self, "8:pids:/\n4:memory:/unit\n");
        assert_int_equal(cgroup_home(mount, self, &home), -EOPNOTSUPP);
}

static void a_place_outside_of_our_namespace_is_none(void **state _unused_) {
        _cleanup_free_ char *home = NULL;

        put(self, "0::/../unit\n");
        assert_int_equal(cgroup_home(mount, self, &home), -EOPNOTSUPP);
}

static void what_is_done_is_removed(void **state _unused_) {
        _cleanup_free_ char *path = NULL;
        Cgroup c = CGROUP_NONE;

        make(MIB, 1, &c);
        path = strdup(c.path);
        cgroup_done(&c);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(access(at("unit"), F_OK), 0);
}

static void what_a_killed_build_left_is_swept_by_the_next(void **state _unused_) {
        _cleanup_(cgroup_done) Cgroup c = CGROUP_NONE;

        assert_int_equal(mkdir(at("unit/imgbuild-stage-5-0"), 0755), 0);
        make(MIB, 1, &c);
        assert_int_equal(access(at("unit/imgbuild-stage-5-0"), F_OK), -1);
}

static void one_in_use_is_not_swept(void **state _unused_) {
        _cleanup_(cgroup_done) Cgroup a = CGROUP_NONE, b = CGROUP_NONE;

        make(MIB, 1, &a);
        make(MIB, 1, &b);
        assert_string_not_equal(a.path, b.path);
        assert_int_equal(access(a.path, F_OK), 0);
}

/* As after a command whose cgroup says `text` in the file `events`. */
static int met(const char *events, const char *text, char **ret_why) {
        _cleanup_(limit_watch_done) LimitWatch w = {};
        _cleanup_free_ char *path = NULL;
        int r;

        limit_watch_begin(&w, &(Limits) { .memory = 64 * MIB, .processes = 100 }, "/tmp");
        limit_watch_cgroup(&w, mount, self);
        assert_non_null(w.cgroup.path);
        path = path_join(w.cgroup.path, events);
        put(path, text);
        r = limit_watch_met(&w);
        assert_int_equal(limit_watch_look(getpid(), &w), r);
        *ret_why = w.why ? strdup(w.why) : NULL;
        return r;
}

static void too_much_memory_is_told(void **state _unused_) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(met("memory.events", "oom 1\noom_kill 3\noom_group_kill 1\n", &why),
                        -EDQUOT);
        assert_non_null(strstr(why, "more memory"));
        assert_non_null(strstr(why, "limits.memory allows 64.0 MiB"));
}

static void too_many_processes_are_told(void **state _unused_) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(met("pids.events", "max 7\n", &why), -EDQUOT);
        assert_non_null(strstr(why, "limits.processes allows 100"));
}

static void within_its_limits_nothing_is_told(void **state _unused_) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(
                        met("memory.events", "high 3\noom 1\noom_kill 0\noom_group_kill 0\n", &why),
                        0);
        assert_null(why);
}

static void without_a_cgroup_it_is_looked_at_as_before(void **state _unused_) {
        _cleanup_(limit_watch_done) LimitWatch w = {};

        put(self, "8:pids:/\n");
        limit_watch_begin(&w, &(Limits) {}, "/tmp");
        limit_watch_cgroup(&w, mount, self);
        assert_null(w.cgroup.path);
        assert_int_equal(limit_watch_met(&w), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                a_commands_cgroup_has_its_limits, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                we_go_into_one_below_and_hand_controllers_on, set_up, tear_down),
                cmocka_unit_test_setup_teardown(once_moved_the_home_is_above, set_up, tear_down),
                cmocka_unit_test_setup_teardown(others_processes_are_not_moved, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                all_of_a_delegated_unit_is_moved, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                without_the_controllers_there_is_none, set_up, tear_down),
                cmocka_unit_test_setup_teardown(on_version_1_there_is_none, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                a_place_outside_of_our_namespace_is_none, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_is_done_is_removed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                what_a_killed_build_left_is_swept_by_the_next, set_up, tear_down),
                cmocka_unit_test_setup_teardown(one_in_use_is_not_swept, set_up, tear_down),
                cmocka_unit_test_setup_teardown(too_much_memory_is_told, set_up, tear_down),
                cmocka_unit_test_setup_teardown(too_many_processes_are_told, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                within_its_limits_nothing_is_told, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                without_a_cgroup_it_is_looked_at_as_before, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
