/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Another network namespace is entered, and its own sysfs is what is read there. */

#include "steps/rdma/namespaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

/* A child in a namespace of its own, where the loopback device is called otherwise. */
static pid_t start_other(void) {
        int ready[2];
        char c;

        assert_int_equal(pipe(ready), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct ifreq request = { .ifr_name = "lo", .ifr_newname = "pod0" };

                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (unshare(CLONE_NEWNET) < 0)
                        _exit(77);
                int s = socket(AF_INET, SOCK_DGRAM, 0);
                if (s < 0 || ioctl(s, SIOCSIFNAME, &request) < 0)
                        _exit(1);
                (void) !write(ready[1], "", 1);
                for (;;)
                        pause();
        }
        close(ready[1]);
        if (read(ready[0], &c, 1) != 1) {
                int status;

                waitpid(pid, &status, 0);
                close(ready[0]);
                if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                        skip(); /* not root */
                fail();
        }
        close(ready[0]);
        return pid;
}

static bool has(int sysfs, const char *path) {
        struct stat st;

        return fstatat(sysfs, path, &st, 0) == 0;
}

static int count_mounts(void) {
        int n = 0, c;
        FILE *f = fopen("/proc/self/mountinfo", "re");

        assert_non_null(f);
        while ((c = fgetc(f)) != EOF)
                n += c == '\n';
        fclose(f);
        return n;
}

static void test_sysfs_is_the_other_ones(void **state _unused_) {
        _cleanup_close_ int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), other = -EBADF,
                            sysfs = -EBADF;
        pid_t pid = start_other();
        char path[64];
        int mounts;

        /* Where nobody else's mounts come and go. */
        assert_int_equal(unshare(CLONE_NEWNS), 0);
        assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
        mounts = count_mounts();
        snprintf(path, sizeof(path), "/proc/%d/ns/net", (int) pid);
        other = open(path, O_RDONLY | O_CLOEXEC);
        sysfs = net_namespace_enter(other);
        assert_true(sysfs >= 0);
        assert_true(has(sysfs, "class/net/pod0/address"));
        assert_false(has(sysfs, "class/net/lo"));
        assert_int_equal(count_mounts(), mounts);

        assert_int_equal(setns(own, CLONE_NEWNET), 0);
        sysfs = safe_close(sysfs);
        sysfs = net_namespace_enter(own);
        assert_true(has(sysfs, "class/net/lo/address"));
        assert_false(has(sysfs, "class/net/pod0"));

        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

static void test_what_is_no_namespace(void **state _unused_) {
        _cleanup_close_ int file = open("/dev/null", O_RDONLY | O_CLOEXEC),
                            mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

        assert_true(net_namespace_enter(file) < 0);
        assert_true(net_namespace_enter(mounts) < 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sysfs_is_the_other_ones),
                cmocka_unit_test(test_what_is_no_namespace),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
