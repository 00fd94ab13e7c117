/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every refused call, tried by this program itself in one sandbox: it says what the kernel
 * answered, one call a line. Arguments are such that without a filter the answer is another. */

#include "sandbox-fixture.h"

#include <linux/netlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define INSIDE "/run/imgbuild/probe"
#define BAD ((long) -1) /* a descriptor, a pointer, a command that nothing takes */

static const struct Probe {
        const char *name;
        long number, arguments[5];
        int expected;
} probes[] = {
        { "open_by_handle_at", SYS_open_by_handle_at, { BAD, BAD, BAD }, EPERM },

        { "mount", SYS_mount, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "umount2", SYS_umount2, { BAD, BAD }, EPERM },
        { "pivot_root", SYS_pivot_root, { BAD, BAD }, EPERM },
        { "open_tree", 428, { BAD, BAD, BAD }, EPERM },
        { "move_mount", 429, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "fsopen", 430, { BAD, BAD }, EPERM },
        { "fsconfig", 431, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "fsmount", 432, { BAD, BAD, BAD }, EPERM },
        { "fspick", 433, { BAD, BAD, BAD }, EPERM },
        { "mount_setattr", 442, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "open_tree_attr", 467, { BAD, BAD, BAD, BAD, BAD }, EPERM },

        { "setns", SYS_setns, { BAD, BAD }, EPERM },
        { "unshare: user", SYS_unshare, { CLONE_NEWUSER }, EPERM },
        { "unshare: mount, with more", SYS_unshare, { CLONE_NEWNS | CLONE_FS }, EPERM },
        { "unshare: time", SYS_unshare, { CLONE_NEWTIME }, EPERM },
        { "unshare: files", SYS_unshare, { CLONE_FILES }, 0 },
        { "clone: user", SYS_clone, { CLONE_NEWUSER | CLONE_THREAD }, EPERM },
        { "clone: net", SYS_clone, { CLONE_NEWNET | CLONE_THREAD }, EPERM },
        { "clone3", SYS_clone3, { BAD, BAD }, ENOSYS },
        { "listns", 470, { BAD, BAD, BAD, BAD }, EPERM },

        { "acct", SYS_acct, { BAD }, EPERM },
        { "adjtimex", SYS_adjtimex, { BAD }, EPERM },
        { "clock_adjtime", SYS_clock_adjtime, { BAD, BAD }, EPERM },
        { "clock_settime", SYS_clock_settime, { BAD, BAD }, EPERM },
        { "settimeofday", SYS_settimeofday, { BAD, BAD }, EPERM },
        { "init_module", SYS_init_module, { BAD, BAD, BAD }, EPERM },
        { "finit_module", SYS_finit_module, { BAD, BAD, BAD }, EPERM },
        { "delete_module", SYS_delete_module, { BAD, BAD }, EPERM },
        { "kexec_load", SYS_kexec_load, { BAD, BAD, BAD, BAD }, EPERM },
        { "kexec_file_load", SYS_kexec_file_load, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "quotactl", SYS_quotactl, { BAD, BAD, BAD, BAD }, EPERM },
        { "quotactl_fd", 443, { BAD, BAD, BAD, BAD }, EPERM },
        { "reboot", SYS_reboot, { BAD, BAD, BAD, BAD }, EPERM },
        { "swapon", SYS_swapon, { BAD, BAD }, EPERM },
        { "swapoff", SYS_swapoff, { BAD }, EPERM },
        { "syslog", SYS_syslog, { BAD, BAD, BAD }, EPERM },
        { "vhangup", SYS_vhangup, {}, EPERM },
#ifdef __x86_64__
        { "ioperm", SYS_ioperm, { BAD, BAD, BAD }, EPERM },
        { "iopl", SYS_iopl, { BAD }, EPERM },
#endif

        { "kcmp", SYS_kcmp, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "pidfd_getfd", SYS_pidfd_getfd, { BAD, BAD, BAD }, EPERM },
        { "process_madvise", SYS_process_madvise, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "process_vm_readv", SYS_process_vm_readv, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "process_vm_writev", SYS_process_vm_writev, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "ptrace", SYS_ptrace, { BAD, BAD, BAD, BAD }, EPERM },

        { "add_key", SYS_add_key, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "keyctl", SYS_keyctl, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "request_key", SYS_request_key, { BAD, BAD, BAD, BAD }, EPERM },
        { "bpf", SYS_bpf, { BAD, BAD, BAD }, EPERM },
        { "fanotify_init", SYS_fanotify_init, { BAD, BAD }, EPERM },
        { "fanotify_mark", SYS_fanotify_mark, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "io_uring_setup", SYS_io_uring_setup, { BAD, BAD }, EPERM },
        { "io_uring_enter", SYS_io_uring_enter, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "io_uring_register", SYS_io_uring_register, { BAD, BAD, BAD, BAD }, EPERM },
        { "perf_event_open", SYS_perf_event_open, { BAD, BAD, BAD, BAD, BAD }, EPERM },
        { "userfaultfd", SYS_userfaultfd, { BAD }, EPERM },

        { "TIOCSTI", SYS_ioctl, { BAD, TIOCSTI, BAD }, EPERM },
        { "TIOCSTI with high bits", SYS_ioctl, { BAD, TIOCSTI | 1L << 40, BAD }, EPERM },
        { "TIOCLINUX", SYS_ioctl, { BAD, TIOCLINUX, BAD }, EPERM },
        { "TIOCSETD", SYS_ioctl, { BAD, TIOCSETD, BAD }, EPERM },
        { "another ioctl", SYS_ioctl, { BAD, TIOCGWINSZ, BAD }, EBADF },

        { "AF_VSOCK", SYS_socket, { AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 77 }, EAFNOSUPPORT },
        { "AF_ALG", SYS_socket, { AF_ALG, SOCK_SEQPACKET, 77 }, EAFNOSUPPORT },
        { "AF_TIPC", SYS_socket, { AF_TIPC, SOCK_STREAM, 77 }, EAFNOSUPPORT },
        { "AF_PACKET", SYS_socket, { AF_PACKET, SOCK_RAW, 0 }, EAFNOSUPPORT },
        { "AF_AX25", SYS_socket, { AF_AX25, SOCK_RAW, 0 }, EAFNOSUPPORT },
        { "a family with high bits", SYS_socket, { AF_UNIX | 1L << 40, SOCK_STREAM, 0 },
                        EAFNOSUPPORT },
        { "a pair of AF_TIPC", SYS_socketpair, { AF_TIPC, SOCK_STREAM, 0, BAD }, EAFNOSUPPORT },
        { "audit", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT }, EAFNOSUPPORT },
        { "crypto", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO }, EAFNOSUPPORT },
        { "selinux", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_SELINUX }, EAFNOSUPPORT },
        { "SCTP", SYS_socket, { AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP }, EPROTONOSUPPORT },
        { "DCCP", SYS_socket, { AF_INET6, SOCK_DCCP, IPPROTO_DCCP }, EPROTONOSUPPORT },
        { "route", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, 0 },
        { "uevent", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT }, 0 },
        { "unix", SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, 0 },
        { "inet", SYS_socket, { AF_INET, SOCK_STREAM, 0 }, 0 },
        { "inet6, UDP", SYS_socket, { AF_INET6, SOCK_DGRAM, IPPROTO_UDP }, 0 },

        { "fsync", SYS_fsync, { BAD }, 0 },
        { "fdatasync", SYS_fdatasync, { BAD }, 0 },
        { "syncfs", SYS_syncfs, { BAD }, 0 },
        { "sync_file_range", SYS_sync_file_range, { BAD, BAD, BAD, BAD }, 0 },
        { "msync", SYS_msync, { BAD, BAD, BAD }, EINVAL },

        { "a call of tomorrow", 471, { BAD }, ENOSYS },
        { "a call of next year", 500, { BAD }, ENOSYS },
};

/* Status of a child that makes one call by another ABI. */
static int other_abi(void (*call)(void)) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0) {
                prctl(PR_SET_DUMPABLE, 0); /* no core file */
                call();
                _exit(0);
        }
        waitpid(pid, &status, 0);
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

#ifdef __x86_64__
static void call_i386(void) { /* getpid */
        long result;

        __asm__ volatile("int $0x80"
                        : "=a"(result)
                        : "a"(20L)
                        : "memory", "r8", "r9", "r10", "r11");
}

static void call_x32(void) {
        syscall(0x40000000 | SYS_getpid);
}
#endif

/* As the command of a sandbox. */
static _noreturn_ void probe(void) {
        for (size_t i = 0; i < ELEMENTSOF(probes); i++) {
                const struct Probe *p = probes + i;
                const long *a = p->arguments;
                long r = syscall(p->number, a[0], a[1], a[2], a[3], a[4]);

                printf("%s: %d\n", p->name, r < 0 ? errno : 0);
                fflush(stdout);
        }
#ifdef __x86_64__
        printf("i386: signal %d\n", other_abi(call_i386));
        printf("x32: signal %d\n", other_abi(call_x32));
#endif
        printf("no new privileges: %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
        fflush(stdout);
        _exit(0); /* the leak sanitizer would want ptrace */
}

static char *answers;

static int run_probe(void **state) {
        char self[4096];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        assert_true(n > 0);
        self[n] = '\0';
        assert_int_equal(setup(state), 0);

        SandboxBind binds[] = { f.usr, { self, INSIDE, false } };
        Sandbox s = f.sandbox;
        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        assert_int_equal(sh(&s, INSIDE " --probe", &answers), 0);
        return 0;
}

static int end_probe(void **state) {
        free(answers);
        return teardown(state);
}

static bool said(const char *line) {
        _cleanup_free_ char *whole = strf("\n%s\n", line), *all = strf("\n%s", answers);

        return strstr(all, whole);
}

static void each_call_has_its_answer(void **state _unused_) {
        bool right = true;

        for (size_t i = 0; i < ELEMENTSOF(probes); i++) {
                _cleanup_free_ char *line = strf("%s: %d", probes[i].name, probes[i].expected);

                if (said(line))
                        continue;
                print_error("not in the answers: %s\n", line);
                right = false;
        }
        if (!right)
                print_error("%s", answers);
        assert_true(right);
}

static void other_abis_end_the_process(void **state _unused_) {
#ifdef __x86_64__
        assert_true(said("i386: signal 31")); /* SIGSYS */
        assert_true(said("x32: signal 31"));
#else
        skip();
#endif
}

static void nothing_gives_new_privileges(void **state _unused_) {
        assert_true(said("no new privileges: 1"));
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_call_has_its_answer),
                cmocka_unit_test(other_abis_end_the_process),
                cmocka_unit_test(nothing_gives_new_privileges),
        };

        if (argc > 1 && streq(argv[1], "--probe"))
                probe();
        if (geteuid() != 0 && userns_enter(argc, argv) < 0) {
                print_message("needs root or a user namespace\n");
                return 77;
        }
        return cmocka_run_group_tests(tests, run_probe, end_probe);
}
