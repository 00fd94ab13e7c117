/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A pidfd, and for kernels that have none (EL 8's own is a 4.18) a pipe whose other end a thread
 * closes, which does nothing but wait for the child. */

#include "shared/pidfd.h"
#include "shared/file-util.h"
#include "shared/older-headers.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

typedef struct Wait {
        pid_t pid;
        int fd;
} Wait;

/* Without reaping it: that is the caller's. */
static void *wait_for_end(void *userdata) {
        Wait *w = userdata;
        siginfo_t info;

        while (waitid(P_PID, (id_t) w->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
                ;
        close(w->fd);
        free(w);
        return NULL;
}

/* Signals are for the thread that was there before. */
static int start(Wait *w) {
        sigset_t all, before;
        pthread_attr_t attributes;
        pthread_t thread;
        int r;

        if (pthread_attr_init(&attributes) != 0)
                return -ENOMEM;
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&thread, &attributes, wait_for_end, w);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return -r;
}

int pidfd_by_thread(pid_t pid) {
        Wait *w = malloc(sizeof(*w));
        int fds[2], r;

        if (!w)
                return -ENOMEM;
        if (pipe2(fds, O_CLOEXEC) < 0) {
                free(w);
                return -errno;
        }
        *w = (Wait) { pid, fds[1] };
        r = start(w);
        if (r < 0) {
                close(fds[0]);
                close(fds[1]);
                free(w);
                return r;
        }
        return fds[0];
}

int pidfd_of_child(pid_t pid) {
        int fd = (int) syscall(SYS_pidfd_open, pid, 0);

        if (fd >= 0)
                return fd;
        return errno == ENOSYS ? pidfd_by_thread(pid) : -errno;
}
