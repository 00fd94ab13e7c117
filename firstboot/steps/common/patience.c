/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The child holds a lock for as long as it lives, however long that is. */

#include "steps/common/patience.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/pidfd.h"
#include "shared/time-util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Waits for a child of somebody else's check, which may well be alive. */
static int take_lock(const char *name, uint64_t deadline) {
        _cleanup_free_ char *path = fb_pathf("%s/%s.lock", PATH_RUN_CHECK, name);

        return path ? lock_file(path, deadline) : -ENOMEM;
}

int patience_run(
                const char *name, uint64_t timeout_usec, int (*f)(void *userdata), void *userdata) {
        uint64_t deadline = now_usec() + timeout_usec;
        _cleanup_close_ int lock = take_lock(name, deadline), pidfd = -EBADF;
        int status = 0;
        pid_t pid;

        if (lock < 0)
                return lock;
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                close(STDOUT_FILENO); /* who waits for its end does not wait for ours */
                _exit(-f(userdata) & 0xff);
        }

        pidfd = pidfd_of_child(pid);
        struct pollfd p = { .fd = pidfd, .events = POLLIN };
        uint64_t now = now_usec(), left = deadline - MIN(now, deadline);
        if (pidfd < 0 || poll(&p, 1, (int) (left / USEC_PER_MSEC)) <= 0) {
                kill(pid, SIGKILL); /* not waited for: it may be stuck in the kernel */
                return -ETIMEDOUT;
        }
        if (waitpid(pid, &status, 0) < 0)
                return -errno;
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}
