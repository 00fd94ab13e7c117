/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A double of a file system such as NFS: from now on, in this process and its children, renameat2()
 * with any flag fails as it does there. Without a library, so that it needs no build of its own. */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static inline int refuse_rename_flags(void) {
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                return -errno;
        return 0;
}
