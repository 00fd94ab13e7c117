/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which calls of the kernel a command in a tree has no business with. Root of a tree is root in the
 * kernel's eyes, too: most of these want a capability that bubblewrap took away already, and are
 * refused so that one mistake in the kernel is not enough. docs/security.md says what is refused.
 *
 * Refused is what programs can live with: EPERM, or what they take for "this kernel does not have
 * it" where they go on then.
 *
 * What asks for data to be on the disk succeeds, and nothing is done: what a command writes is
 * scratch until imgbuild has synced it, once and as a whole, and no package flushes what the host
 * has besides. */

#include "sandbox/internal.h"

#include "shared/strv.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* The first call that is not looked at here: Linux 6.19's listns is the last that is. */
#define FIRST_UNKNOWN_CALL 471

/* Whatever their arguments are. The numbers, the same on all architectures from 424 on, are for a
 * libseccomp that is older than the call. */
static const struct {
        const char *name;
        int number; /* 0: every libseccomp has it */
} refused[] = {
        /* Files past all paths: by handle. */
        { "open_by_handle_at" },

        /* Mounts. */
        { "mount" },
        { "umount" },
        { "umount2" },
        { "pivot_root" },
        { "open_tree", 428 },
        { "move_mount", 429 },
        { "fsopen", 430 },
        { "fsconfig", 431 },
        { "fsmount", 432 },
        { "fspick", 433 },
        { "mount_setattr", 442 },
        { "open_tree_attr", 467 },

        /* Namespaces; how new ones are made is below. */
        { "setns" },
        { "listns", 470 },

        /* The machine itself. */
        { "acct" },
        { "adjtimex" },
        { "clock_adjtime" },
        { "clock_settime" },
        { "settimeofday" },
        { "stime" },
        { "create_module" },
        { "delete_module" },
        { "finit_module" },
        { "init_module" },
        { "ioperm" },
        { "iopl" },
        { "kexec_file_load" },
        { "kexec_load" },
        { "quotactl" },
        { "quotactl_fd", 443 },
        { "reboot" },
        { "swapoff" },
        { "swapon" },
        { "syslog" },
        { "vhangup" },

        /* Other processes. */
        { "kcmp" },
        { "pidfd_getfd", 438 },
        { "process_madvise", 440 },
        { "process_vm_readv" },
        { "process_vm_writev" },
        { "ptrace" },

        /* Much of the kernel for little of a program. */
        { "add_key" },
        { "keyctl" },
        { "request_key" },
        { "bpf" },
        { "fanotify_init" },
        { "fanotify_mark" },
        { "io_uring_enter", 426 },
        { "io_uring_register", 427 },
        { "io_uring_setup", 425 },
        { "lookup_dcookie" },
        { "perf_event_open" },
        { "userfaultfd" },
};

/* Not msync, by whose answer some programs find out what of their memory is mapped. */
static const char *const flushing[] = { "fdatasync", "fsync", "sync", "sync_file_range", "syncfs",
        NULL };

/* CLONE_NEWTIME is among clone()'s signal bits, and means nothing to it. */
static const unsigned namespaces[] = { CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
        CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET };

static void release(scmp_filter_ctx *filter) {
        if (*filter)
                seccomp_release(*filter);
}

/* `error` for a call with any arguments, 0: it succeeds. `known` is its number, as above. */
static int answer(scmp_filter_ctx filter, const char *name, int known, uint16_t error) {
        int number = seccomp_syscall_resolve_name(name);

        if (number == __NR_SCMP_ERROR)
                number = known;
        if (number <= 0) /* a pseudo number: this architecture does not have it */
                return 0;
        return seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), number, 0);
}

static int refuse_names(scmp_filter_ctx filter) {
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                int r = answer(filter, refused[i].name, refused[i].number, EPERM);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* clone3's flags are behind a pointer, where no filter looks: C libraries without it use clone. */
static int refuse_namespaces(scmp_filter_ctx filter) {
        int r;

        for (size_t i = 0; i < ELEMENTSOF(namespaces); i++) {
                const struct scmp_arg_cmp flag =
                                SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]);

                r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, flag);
                if (r < 0)
                        return r;
                r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1, flag);
                if (r < 0)
                        return r;
        }
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1,
                        SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWTIME, CLONE_NEWTIME));
        if (r < 0)
                return r;
        return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* Typing into the terminal that somebody else reads, and line disciplines, which are modules. The
 * kernel looks at 32 bits of a request. */
static int refuse_terminals(scmp_filter_ctx filter) {
        static const unsigned requests[] = { TIOCSTI, TIOCLINUX, TIOCSETD };

        for (size_t i = 0; i < ELEMENTSOF(requests); i++) {
                int r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]));

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Refuses with EAFNOSUPPORT the values of an argument that are not in the list, which rises. The
 * kernel looks at 32 bits; libseccomp takes one comparison of an argument a rule. */
static int refuse_others(scmp_filter_ctx filter, int call, const struct scmp_arg_cmp *family,
                unsigned argument, const unsigned *allowed, size_t n) {
        for (unsigned value = 0, next = 0; next < n; value++) {
                struct scmp_arg_cmp rule[2] = { SCMP_CMP(
                                argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, value) };
                int r;

                if (value == allowed[next]) {
                        next++;
                        continue;
                }
                if (family)
                        rule[1] = *family;
                r = seccomp_rule_add_array(
                                filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), call, family ? 2 : 1, rule);
                if (r < 0)
                        return r;
        }

        struct scmp_arg_cmp above[2] = { SCMP_CMP(argument, SCMP_CMP_GT, allowed[n - 1]) };
        if (family)
                above[1] = *family;
        return seccomp_rule_add_array(
                        filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), call, family ? 2 : 1, above);
}

/* Of families and protocols those that programs of images use. Each other one is a module that the
 * kernel loads for whoever asks; vsock and AF_ALG are the host's, whatever namespace one is in, and
 * so is the audit log: useradd and PAM go on without where the kernel has none, and only there. */
static int refuse_sockets(scmp_filter_ctx filter) {
        static const unsigned families[] = { AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK },
                              netlink[] = { NETLINK_ROUTE, NETLINK_SOCK_DIAG,
                                      NETLINK_KOBJECT_UEVENT, NETLINK_GENERIC },
                              protocols[] = { IPPROTO_SCTP, IPPROTO_DCCP };
        const struct scmp_arg_cmp is_netlink = SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, AF_NETLINK);
        const int calls[] = { SCMP_SYS(socket), SCMP_SYS(socketpair) };
        int r;

        for (size_t i = 0; i < ELEMENTSOF(calls); i++) {
                r = refuse_others(filter, calls[i], NULL, 0, families, ELEMENTSOF(families));
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ELEMENTSOF(protocols); i++) {
                r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 1,
                                SCMP_A2(SCMP_CMP_MASKED_EQ, UINT32_MAX, protocols[i]));
                if (r < 0)
                        return r;
        }
        return refuse_others(
                        filter, SCMP_SYS(socket), &is_netlink, 2, netlink, ELEMENTSOF(netlink));
}

static int spare_the_disk(scmp_filter_ctx filter) {
        STRV_FOREACH (name, flushing) {
                int r = answer(filter, *name, 0, 0);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int fill(scmp_filter_ctx filter, bool durable) {
        int r;

        /* Another ABI has its own numbers: a program of i386 or x32 ends. */
        r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
        if (r < 0)
                return r;
        r = refuse_names(filter);
        if (r < 0)
                return r;
        r = refuse_namespaces(filter);
        if (r < 0)
                return r;
        r = refuse_terminals(filter);
        if (r < 0)
                return r;
        r = refuse_sockets(filter);
        if (r < 0)
                return r;
        return durable ? 0 : spare_the_disk(filter);
}

static int new_file(void) {
        int fd = memfd_create("syscalls", MFD_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

static int rewind_file(int fd) {
        return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

static int write_known(int fd, bool durable) {
        _cleanup_(release) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        int r;

        if (!filter)
                return -ENOMEM;
        r = fill(filter, durable);
        if (r < 0)
                return r;
        r = seccomp_export_bpf(filter, fd);
        return r < 0 ? r : rewind_file(fd);
}

/* A newer kernel's calls: programs ask for those on older kernels, too. libseccomp cannot compare
 * numbers. Where both filters have an opinion, the kernel takes the harder one. */
static int write_unknown(int fd) {
        const struct sock_filter program[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_UNKNOWN_CALL, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };

        return write(fd, program, sizeof(program)) == sizeof(program) ? rewind_file(fd) : -EIO;
}

int syscalls_filters(bool durable, int ret_fds[static 2]) {
        _cleanup_close_ int known = new_file(), unknown = new_file();
        int r;

        if (known < 0 || unknown < 0)
                return MIN(known, unknown);
        r = write_known(known, durable);
        if (r < 0)
                return r;
        r = write_unknown(unknown);
        if (r < 0)
                return r;

        ret_fds[0] = TAKE_FD(known);
        ret_fds[1] = TAKE_FD(unknown);
        return 0;
}
