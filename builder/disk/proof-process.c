/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Question and answer are messages over a socket pair. The child has a process group of its own, so
 * that the appliance's QEMU goes with it; what QEMU listens on is reached through a descriptor of a
 * folder, for a socket's path has only 108 bytes. */

#include "disk/proof-process.h"

#include "common/apart.h"
#include "shared/log.h"
#include "shared/spawn.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define END_USEC (5 * USEC_PER_SEC) /* to close an appliance: less than one */

struct ProofProcess {
        pid_t pid;
        int fd;
};

typedef struct Question {
        DiskInfo disk;
        char image[PATH_MAX], format[16];
} Question;

typedef struct Answer {
        bool last;
        int result;         /* of the last */
        size_t done, total; /* of all before */
} Answer;

/* ---- the child ---- */

typedef struct Reader {
        Context *ctx;
        const Plan *plan;
        char *const *layers;
        char *monitor;
        guestfs_h *g;
        Samples samples;
        int fd;
} Reader;

static void tell_progress(size_t done, size_t total, void *userdata) {
        const Reader *r = userdata;

        (void) send(r->fd, &(Answer) { .done = done, .total = total }, sizeof(Answer),
                        MSG_NOSIGNAL);
}

static int read_back(Reader *reader, const Question *q) {
        const ProofWatch watch = { tell_progress, reader };
        unsigned partitions = 1 + (q->disk.bios_start > 0) + (q->disk.esp_start > 0);
        _cleanup_free_ char *device = NULL;
        int r;

        r = guestfs_plug(reader->g, reader->monitor, q->image, q->format, partitions, &device);
        if (r < 0) {
                log_debug("The running appliance does not take %s: %s", q->image, strerror(-r));
                return -EAGAIN;
        }
        return proof_compare(reader->g, device, reader->plan->recipe, &q->disk, &reader->samples,
                        &watch);
}

static int serve(Reader *reader, const char *folder) {
        _cleanup_guestfs_ guestfs_h *g = NULL;
        Question q;
        int r;

        r = guestfs_open_bare(folder, reader->monitor, &g);
        if (r < 0)
                return r;
        reader->g = g;
        r = proof_samples(reader->ctx, reader->plan, reader->layers, &reader->samples);
        if (r < 0)
                return r;
        while (recv(reader->fd, &q, sizeof(q), 0) == sizeof(q)) {
                const Answer a = { .last = true, .result = read_back(reader, &q) };

                if (send(reader->fd, &a, sizeof(a), MSG_NOSIGNAL) < 0)
                        return -errno;
        }
        return 0;
}

/* QEMU, which gets the signal too, ends of it; what we have called then fails. */
static void on_end(int sig _unused_) {
}

static _noreturn_ void child_main(Reader *reader, const char *folder, pid_t parent) {
        const struct sigaction end = { .sa_handler = on_end };
        int folder_fd;

        setpgid(0, 0); /* a Ctrl-C is the parent's */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(127);
        sigaction(SIGTERM, &end, NULL);
        folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        reader->monitor = strf("/proc/%d/fd/%d/monitor", (int) getpid(), folder_fd);
        if (folder_fd < 0 || !reader->monitor)
                _exit(126);
        _exit(serve(reader, folder) < 0 ? 1 : 0);
}

/* ---- the parent ---- */

int proof_process_start(Context *ctx, const Plan *plan, char *const *layers, const char *folder,
                ProofProcess **ret) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };
        Context quiet = *ctx;
        Reader reader = { .ctx = &quiet, .plan = plan, .layers = layers };
        _cleanup_free_ ProofProcess *p = calloc(1, sizeof(*p));
        pid_t parent = getpid();

        quiet.progress = NULL; /* the parent's display */
        if (!p || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                return p ? -errno : -ENOMEM;
        fflush(NULL); /* or the child would write it again */
        p->pid = fork();
        if (p->pid < 0)
                return -errno;
        if (p->pid == 0) {
                fds[0] = safe_close(fds[0]); /* or its end would never be seen */
                reader.fd = fds[1];
                child_main(&reader, folder, parent);
        }
        setpgid(p->pid, p->pid); /* whichever comes first: a signal to the group must find it */
        p->fd = TAKE_FD(fds[0]);
        *ret = TAKE_PTR(p);
        return 0;
}

/* Waits for a message; -EAGAIN where the child has ended. */
static int next_answer(const ProofProcess *p, Answer *ret) {
        struct pollfd fds[] = {
                { .fd = p->fd, .events = POLLIN },
                { .fd = interrupt_fd(), .events = POLLIN },
        };

        while (!interrupt_signal()) {
                if (poll(fds, ELEMENTSOF(fds), -1) < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (fds[0].revents)
                        return recv(p->fd, ret, sizeof(*ret), 0) == sizeof(*ret) ? 0 : -EAGAIN;
        }
        return -ECANCELED;
}

int proof_process_ask(ProofProcess *p, const DiskInfo *disk, const char *image, const char *format,
                const ProofWatch *watch) {
        Question q = { .disk = *disk };
        Answer a = {};

        if (strlen(image) >= sizeof(q.image) || strlen(format) >= sizeof(q.format))
                return -EAGAIN;
        snprintf(q.image, sizeof(q.image), "%s", image);
        snprintf(q.format, sizeof(q.format), "%s", format);
        if (send(p->fd, &q, sizeof(q), MSG_NOSIGNAL) < 0)
                return -EAGAIN; /* it did not start */
        for (;;) {
                int r = next_answer(p, &a);

                if (r < 0)
                        return r;
                if (a.last)
                        return a.result;
                watch->progress(a.done, a.total, watch->userdata);
        }
}

ProofProcess *proof_process_free(ProofProcess *p) {
        if (!p)
                return NULL;
        safe_close(p->fd); /* its end, if it waits for a question */
        kill(-p->pid, SIGTERM);
        if (!child_has_ended(p->pid, END_USEC)) {
                kill(-p->pid, SIGKILL);
                (void) waitpid(p->pid, NULL, 0);
        }
        free(p);
        return NULL;
}
