/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A tree out of an image. One on ext4 is read without an appliance; else, out of an appliance, at
 * the speed of its disk: tar runs inside and writes to a port of its own. guestfs_tar_out() would
 * hand out all zeros of a sparse file, and 8 KiB a time.
 *
 * The appliance is a child's, in a process group of its own: whoever reads ends it when it does not
 * like what comes. */

#include "appliance/internal.h"
#include "appliance/left-out.h"
#include "appliance/ext4.h"

#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define END_USEC (5 * USEC_PER_SEC) /* to close an appliance: less than one */
#define STEP_USEC (10 * USEC_PER_MSEC)

struct TreeStream {
        pid_t pid;
};

/* Extended attributes as they are, ACLs and labels among them (--acls would look up names of the
 * appliance's users); names as they are, not as UTF-8; no access and change times. Behind it stand
 * what is left out, and the root. */
static const char tar_script[] =
                "cd /sysroot && tar --create --file=" APPLIANCE_PORT
                " --format=posix --sparse --numeric-owner --xattrs "
                "--pax-option=delete=atime,delete=ctime,hdrcharset:=BINARY --blocking-factor=512 --anchored %s .";

static volatile sig_atomic_t ended; /* by whoever reads: no error of ours */

typedef struct Source {
        const char *path, *format, *root, *scratch;
        int fd;
} Source;

static int pour(guestfs_h *g, const Source *s) {
        _cleanup_free_ char *root = NULL, *output = NULL, *options = left_out_options(),
                            *script = options ? strf(tar_script, options) : NULL;
        const char *why;
        int r;

        if (!script)
                return log_oom();
        r = system_mount(g, s->path, s->root, false, &root);
        if (r < 0)
                return r;
        output = guestfs_debug(g, "sh", ARGV(script));
        if (output || ended)
                return output ? 0 : -ECANCELED;
        why = strempty(guestfs_last_error(g));
        return log_error_return(-EIO,
                        "%s: its files cannot all be read, so it is damaged or was cut off: %s",
                        s->path, why);
}

static int serve(const Source *s) {
        _cleanup_free_ char *port = strf("/proc/%d/fd/%d", (int) getpid(), s->fd);
        _cleanup_guestfs_ guestfs_h *g = NULL;
        int r;

        if (!port)
                return log_oom();
        r = s->scratch ? ext4_stream(s->path, s->format, s->root, s->scratch, s->fd) : 0;
        if (r != 0)
                return r;
        if (ended)
                return -ECANCELED;
        r = appliance_open_port(s->path, s->format, port, &g);
        return r < 0 ? r : pour(g, s);
}

/* QEMU, which gets the signal too, ends of it; what we have called then fails. */
static void on_end(int sig _unused_) {
        ended = 1;
}

static _noreturn_ void child_main(const Source *s, pid_t parent) {
        const struct sigaction end = { .sa_handler = on_end };

        setpgid(0, 0); /* a Ctrl-C is the parent's */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(127);
        sigaction(SIGTERM, &end, NULL);
        _exit(serve(s) < 0 ? 1 : 0);
}

int tree_stream_start(const char *path, const char *format, const char *root, const char *scratch,
                int fd, int reader, TreeStream **ret) {
        _cleanup_free_ TreeStream *s = calloc(1, sizeof(*s));
        pid_t parent = getpid();

        if (!s)
                return -ENOMEM;
        fflush(NULL); /* or the child would write it again */
        s->pid = fork();
        if (s->pid < 0)
                return -errno;
        if (s->pid == 0) {
                safe_close(reader); /* or whoever writes would never hear that it is gone */
                child_main(&(Source) { path, format, root, scratch, fd }, parent);
        }
        setpgid(s->pid, s->pid); /* whichever comes first: a signal to the group must find it */
        *ret = TAKE_PTR(s);
        return 0;
}

static bool has_failed(int status) {
        return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int tree_stream_finish(TreeStream *s) {
        int status = 0;

        while (waitpid(s->pid, &status, 0) < 0)
                if (errno != EINTR)
                        break;
        free(s);
        return has_failed(status) ? -EIO : 0;
}

static bool has_ended(pid_t pid, int *ret_status) {
        for (uint64_t waited = 0; waited < END_USEC; waited += STEP_USEC) {
                if (waitpid(pid, ret_status, WNOHANG) != 0)
                        return true;
                usleep(STEP_USEC);
        }
        return false;
}

int tree_stream_end(TreeStream *s) {
        int status = 0;
        bool by_itself = has_ended(s->pid, &status);

        if (!by_itself) {
                kill(-s->pid, SIGTERM); /* libguestfs then removes what it has in scratch */
                if (!has_ended(s->pid, &status)) {
                        kill(-s->pid, SIGKILL);
                        (void) waitpid(s->pid, NULL, 0);
                }
        }
        free(s);
        return by_itself && has_failed(status) ? -EIO : 0;
}
