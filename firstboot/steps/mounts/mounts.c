/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Network file systems: all entries at once, each in a process of its own that mounts and proves
 * it (entry.c). A server that never answers costs its own entry the limit and nobody else
 * anything. */

#include "shared/file-util.h"
#include "shared/time-util.h"
#include "contract/retry.h"
#include "steps/common/attempt.h"
#include "steps/mounts/entry.h"
#include "steps/steps.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SLACK_USEC (60 * USEC_PER_SEC)
#define POLL_MAX_MS 3600000u
#define REPORT_MAX 4096

/* The process of one entry. */
typedef struct Worker {
        MountEntry entry;
        pid_t pid; /* 0: it has ended */
        int fd;    /* its report: "CODE\nTEXT", or nothing where all is well */
        char report[REPORT_MAX];
        size_t n_report;
} Worker;

static char *full_options(const char *given, const char *type) {
        const char *o = strempty(given);
        /* mount.nfs would repeat by itself for two minutes; trying again is our business. */
        bool retry = startswith(type, "nfs") && !strstr(o, "retry=");

        return strf("_netdev%s%s%s", retry ? ",retry=0" : "", o[0] ? "," : "", o);
}

static _noreturn_ void worker_main(const MountEntry *e, int fd) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);

        char *report = mount_entry(e);
        if (report)
                (void) write_all(fd, report, MIN(strlen(report), (size_t) REPORT_MAX - 1));
        _exit(0);
}

static int worker_start(Worker *w) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        w->pid = fork();
        if (w->pid < 0)
                return -errno;
        if (w->pid == 0) {
                close(fds[0]);
                worker_main(&w->entry, fds[1]);
        }

        w->fd = TAKE_FD(fds[0]);
        return 0;
}

/* Takes what the process has to say; at its end, the process. */
static void worker_read(Worker *w) {
        ssize_t got = read(w->fd, w->report + w->n_report, sizeof(w->report) - 1 - w->n_report);

        if (got > 0) {
                w->n_report += (size_t) got;
                return;
        }
        w->fd = safe_close(w->fd);
        waitpid(w->pid, NULL, 0);
        w->pid = 0;
}

/* Not waited for: it may be stuck in the kernel. */
static void worker_abandon(Worker *w) {
        kill(w->pid, SIGKILL);
        w->fd = safe_close(w->fd);
        w->n_report = (size_t) snprintf(w->report, REPORT_MAX,
                        "mounts.timeout\n%s at %s: no end in sight", w->entry.what, w->entry.where);
}

/* Waits for what any of them says. False once all have ended, or the time is up. */
static bool collect_some(Worker *workers, size_t n, struct pollfd *p, uint64_t deadline) {
        uint64_t now = now_usec();
        size_t open = 0;

        for (size_t i = 0; i < n; i++) {
                p[i] = (struct pollfd) { .fd = workers[i].fd, .events = POLLIN };
                open += workers[i].fd >= 0;
        }
        if (open == 0 || now >= deadline)
                return false;

        int limit_ms = (int) MIN((deadline - now) / USEC_PER_MSEC + 1, POLL_MAX_MS);
        if (poll(p, n, limit_ms) < 0)
                return errno == EINTR;
        for (size_t i = 0; i < n; i++)
                if (workers[i].fd >= 0 && p[i].revents)
                        worker_read(&workers[i]);
        return true;
}

/* Collects the reports; who is beyond every limit is left behind. */
static void collect(Worker *workers, size_t n) {
        _cleanup_free_ struct pollfd *p = calloc(n + 1, sizeof(*p));
        uint64_t deadline = 0;

        for (size_t i = 0; i < n; i++) {
                const MountEntry *e = &workers[i].entry;

                deadline = MAX(deadline,
                                now_usec() + e->give_up_usec + 2 * e->timeout_usec + SLACK_USEC);
        }
        while (p && collect_some(workers, n, p, deadline))
                ;

        for (size_t i = 0; i < n; i++)
                if (workers[i].pid > 0)
                        worker_abandon(&workers[i]);
}

/* Starts them all; a failure leaves the others to be collected. */
static int start_all(const StepContext *c, Worker *workers, json_object *list, size_t n) {
        int r;

        for (size_t i = 0; i < n; i++)
                workers[i].fd = -EBADF;
        for (size_t i = 0; i < n; i++) {
                json_object *o = json_object_array_get_idx(list, i);
                MountEntry *e = &workers[i].entry;

                *e = (MountEntry) {
                        .what = json_get_string(o, "what"),
                        .where = json_get_string(o, "where"),
                        .type = json_get_string(o, "type"),
                        .verify = json_get_string(o, "verify"),
                        .required = json_get_bool(o, "required", true),
                        .timeout_usec = config_duration(o, "timeout", 30 * USEC_PER_SEC),
                        .give_up_usec = attempt_give_up(c, o, 300 * USEC_PER_SEC),
                        .seed = retry_seed(c->seed, strempty(json_get_string(o, "where"))),
                };
                e->options = full_options(json_get_string(o, "options"), e->type);
                r = e->options ? worker_start(&workers[i]) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Records what an entry reported; whether it is mounted. */
static bool take_report(StepContext *c, Worker *w) {
        char *text = strchr(w->report, '\n');

        if (!text)
                return true;
        *text++ = '\0';
        if (w->entry.required)
                (void) step_fail_later(c, w->report, "%s", text);
        else
                (void) step_degrade(c, w->report, "%s", text);
        return false;
}

int mounts_run(StepContext *c) {
        json_object *list = c->section;
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0,
               good = 0;
        _cleanup_free_ Worker *workers = calloc(n + 1, sizeof(Worker));
        int r;

        if (!workers)
                return -ENOMEM;
        if (n == 0)
                return step_skip(c, "no mounts are configured");

        r = start_all(c, workers, list, n);
        collect(workers, n);
        for (size_t i = 0; i < n; i++) {
                good += take_report(c, &workers[i]);
                free(workers[i].entry.options);
        }
        if (r < 0)
                return r;
        return step_done(c, "%zu of %zu mounted", good, n);
}
