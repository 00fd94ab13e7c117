/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Root without root: an ordinary user's imgbuild runs again as root of a user namespace, where the
 * user's subordinate ids (/etc/subuid, /etc/subgid) stand for the other users of an image. */

#include "common/userns.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define IDS_NEEDED 65535 /* beside root itself: an image's nobody has number 65534 */

bool in_user_namespace(void) {
        _cleanup_free_ char *map = NULL;
        unsigned inside, outside, count;

        /* The first namespace maps everything onto itself. No such file: a kernel without user
         * namespaces. */
        if (read_file("/proc/self/uid_map", 4096, &map, NULL) < 0)
                return false;
        return sscanf(map, "%u %u %u", &inside, &outside, &count) != 3 || inside != 0 ||
               outside != 0 || count != UINT32_MAX;
}

/* First range of a file like /etc/subuid that is large enough, for the user by name or number. */
static int find_range(const char *path, const char *name, uid_t uid, unsigned long *ret_start) {
        _cleanup_fclose_ FILE *f = fopen(path, "re");
        _cleanup_free_ char *line = NULL, *number = strf("%u", (unsigned) uid);
        size_t room = 0;

        if (!f)
                return -errno;
        if (!number)
                return -ENOMEM;
        while (getline(&line, &room, f) >= 0) {
                unsigned long start, count;
                char *colon = strchr(line, ':');

                if (!colon)
                        continue;
                *colon = '\0';
                if (!streq_ptr(line, name) && !streq(line, number))
                        continue;
                if (sscanf(colon + 1, "%lu:%lu", &start, &count) == 2 && count >= IDS_NEEDED) {
                        *ret_start = start;
                        return 0;
                }
        }
        return -ENOENT;
}

static int write_map(const char *program, pid_t pid, unsigned own, unsigned long start) {
        _cleanup_free_ char *p = strf("%d", (int) pid), *o = strf("%u", own),
                            *s = strf("%lu", start);
        _cleanup_free_ char *output = NULL;
        int r, status;

        if (!p || !o || !s)
                return -ENOMEM;
        r = spawn_capture(NULL, ARGV(program, p, "0", o, "1", "1", s, "65535"), &output, &status);
        if (r == -ENOENT)
                return log_error_return(r,
                                "%s is not installed: apt install uidmap, or run imgbuild as root",
                                program);
        if (r < 0)
                return log_error_errno(r, "Cannot run %s", program);
        if (status != 0)
                return log_error_return(-EPERM, "%s refuses: %s", program, output);
        return 0;
}

/* newuidmap must be run from outside of the namespace that it maps, so a child that stays outside
 * runs it. It waits until we have left. */
static int map_from_outside(pid_t pid, int go, unsigned long uids, unsigned long gids) {
        char byte;
        int r;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (read(go, &byte, 1) != 1)
                return -ECANCELED;
        r = write_map("newuidmap", pid, getuid(), uids);
        return r < 0 ? r : write_map("newgidmap", pid, getgid(), gids);
}

static int enter(unsigned long uids, unsigned long gids) {
        _cleanup_(close_pairp) int go[2] = { -EBADF, -EBADF };
        pid_t self = getpid(), child;
        int status;

        if (pipe2(go, O_CLOEXEC) < 0)
                return -errno;
        child = fork();
        if (child < 0)
                return -errno;
        if (child == 0) {
                close(go[1]);
                _exit(map_from_outside(self, go[0], uids, gids) < 0);
        }
        if (unshare(CLONE_NEWUSER) < 0) {
                int r = -errno;

                kill(child, SIGKILL);
                waitpid(child, NULL, 0);
                return log_error_errno(r,
                                "This kernel refuses user namespaces to ordinary users: run imgbuild as root, or allow them "
                                "(sysctl kernel.unprivileged_userns_clone=1 on Debian, kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu)");
        }
        if (write(go[1], "", 1) != 1)
                return -errno;
        while (waitpid(child, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return -EPERM; /* the child said why */
        if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
                return log_error_errno(-errno, "Cannot become root of the user namespace");
        return 0;
}

static int find_ranges(const char *name, unsigned long *ret_uids, unsigned long *ret_gids) {
        int r;

        r = find_range("/etc/subuid", name, getuid(), ret_uids);
        return r < 0 ? r : find_range("/etc/subgid", name, getuid(), ret_gids);
}

int userns_enter(int argc _unused_, char *argv[]) {
        unsigned long uids, gids;
        const struct passwd *user;
        int r;

        if (geteuid() == 0)
                return 0;
        user = getpwuid(getuid());
        r = find_ranges(user ? user->pw_name : NULL, &uids, &gids);
        if (r < 0)
                return log_error_return(-EPERM,
                                "User %s has no range of %d subordinate ids in /etc/subuid and /etc/subgid: "
                                "run imgbuild as root, or let root say usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s",
                                user ? user->pw_name : "?", IDS_NEEDED,
                                user ? user->pw_name : "USER");

        r = enter(uids, gids);
        if (r < 0)
                return r;
        execv("/proc/self/exe", argv);
        return log_error_errno(-errno, "Cannot start again in the user namespace");
}
