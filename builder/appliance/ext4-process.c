/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A stranger's file system is parsed by a library on the host, so this is done by a process that
 * has nothing but the disk, read-only, and the pipe: no path, no socket, no other process, little
 * memory and not for ever. docs/security.md says so. */

#include "appliance/ext4.h"
#include "appliance/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MEMORY_MAX (UINT64_C(2) * 1024 * 1024 * 1024) /* bytes of addresses */
#define CPU_MAX 1800 /* seconds of a processor: 400 MB take a quarter of one */
#define NOT_FOR_US 2 /* exit code: it is the appliance's, and nothing was written */

#define KEPT 2 /* files: the disk and the pipe */

/* What both processes see. */
typedef struct Said {
        char why[1024];
} Said;

static int limit(void) {
        const struct {
                __rlimit_resource_t of;
                rlim_t most;
        } limits[] = {
#ifndef __SANITIZE_ADDRESS__ /* whose shadow takes terabytes */
                { RLIMIT_AS, MEMORY_MAX },
#endif
                { RLIMIT_CPU, CPU_MAX },
                { RLIMIT_CORE, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(limits); i++)
                if (setrlimit(limits[i].of, &(struct rlimit) { limits[i].most, limits[i].most }) <
                                0)
                        return -errno;
        return 0;
}

static void release(scmp_filter_ctx *filter) {
        if (*filter)
                seccomp_release(*filter);
}

/* Refused calls fail, and whoever asks goes on without or ends. */
static int confine(void) {
        static const int allowed[] = { SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(write),
                SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
                SCMP_SYS(close), SCMP_SYS(fcntl), SCMP_SYS(mmap), SCMP_SYS(munmap),
                SCMP_SYS(mremap), SCMP_SYS(mprotect), SCMP_SYS(madvise), SCMP_SYS(brk),
                SCMP_SYS(futex), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
                SCMP_SYS(rt_sigreturn), SCMP_SYS(clock_gettime), SCMP_SYS(getrandom),
                SCMP_SYS(uname), SCMP_SYS(exit), SCMP_SYS(exit_group) };
        _cleanup_(release) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        int r = limit();

        if (!filter)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(allowed) && r == 0; i++)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
        return r < 0 ? r : seccomp_load(filter); /* no_new_privs comes with it */
}

/* Nothing else of imgbuild's is open from here on, the terminal neither. */
static int leave_open(int *disk, int *to) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC), from = fcntl(*disk, F_DUPFD, 3 + KEPT),
            into = fcntl(*to, F_DUPFD, 3 + KEPT);

        if (null < 0 || from < 0 || into < 0)
                return -errno;
        for (int fd = 0; fd < 3; fd++)
                if (dup2(null, fd) < 0)
                        return -errno;
        *disk = dup2(from, 3);
        *to = dup2(into, 4);
        return *disk < 0 || *to < 0 || close_range(3 + KEPT, ~0u, 0) < 0 ? -errno : 0;
}

static int child_main(int disk, const char *root, int to, Said *said) {
        _cleanup_ext4_system_ Ext4System s = {};
        _cleanup_free_ char *why = NULL;
        int r;

        signal(SIGPIPE, SIG_IGN);
        signal(SIGTERM, SIG_DFL);
        if (leave_open(&disk, &to) < 0 || confine() < 0 || ext4_system_open(disk, root, &s) <= 0)
                return NOT_FOR_US;
        r = ext4_pour(&s, to, &why);
        if (r < 0)
                snprintf(said->why, sizeof(said->why), "%s", why ? why : strerror(-r));
        return r < 0 ? 1 : 0;
}

static int run(int disk, const char *root, int to, Said *said, int *ret_status) {
        pid_t parent = getpid(), pid;
        int status;

        fflush(NULL);
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(127);
                _exit(child_main(disk, root, to, said));
        }
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return 0;
}

/* -ENOSPC and the like: the appliance needs no room. -ECANCELED: nobody reads `to`. */
static int make_raw(const char *path, const char *format, const char *scratch, int to) {
        _cleanup_free_ char *raw = path_join(scratch, "disk.raw"), *output = NULL;
        int fd, r;

        if (!raw)
                return -ENOMEM;
        r = image_to_raw(path, format, raw, to, &output);
        if (r < 0) {
                log_debug("%s becomes no raw disk in %s: %s", path, scratch, strempty(output));
                (void) unlink(raw);
                return r;
        }
        fd = open(raw, O_RDONLY | O_CLOEXEC);
        r = fd < 0 ? -errno : fd;
        (void) unlink(raw);
        return r;
}

int ext4_stream(const char *path, const char *format, const char *root, const char *scratch,
                int to) {
        _cleanup_close_ int disk = streq(format, "raw") ? open(path, O_RDONLY | O_CLOEXEC)
                                                        : make_raw(path, format, scratch, to);
        int status = 0, r;
        Said *said;

        if (disk < 0)
                return disk == -ECANCELED ? disk : 0;
        said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (said == MAP_FAILED)
                return log_oom();
        r = run(disk, root, to, said, &status);
        if (r < 0)
                r = log_error_errno(r, "%s: cannot start what reads its files", path);
        else if (status == 0)
                r = 1;
        else if (status != NOT_FOR_US) {
                said->why[sizeof(said->why) - 1] = '\0'; /* whatever was written there */
                r = log_error_return(-EIO,
                                "%s: its files cannot all be read, so it is damaged or was cut off: %s",
                                path, *said->why ? said->why : "what reads them died");
        }
        (void) munmap(said, sizeof(*said));
        return r;
}
