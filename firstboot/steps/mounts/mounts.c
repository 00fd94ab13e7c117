/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Network file systems: all entries at once, each in a process of its own that mounts and proves
 * it (entry.c). A server that never answers costs its own entry the limit, and nobody else anything
 * but those inside of it: a mount point below another waits for that one (order.c). */

#include "shared/file-util.h"
#include "shared/time-util.h"
#include "contract/retry.h"
#include "steps/common/attempt.h"
#include "steps/mounts/entry.h"
#include "steps/mounts/order.h"
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
        ssize_t parent; /* the worker of the mount point above; -1: none */
        bool begun;
        bool skipped; /* for the one above it has failed */
        uint64_t deadline;
        pid_t pid; /* 0: not begun, or ended */
        int fd;    /* its report: "CODE\nTEXT", or nothing where all is well */
        char report[REPORT_MAX];
        size_t n_report;
} Worker;

typedef struct Workers {
        Worker *items;
        size_t n;
} Workers;

static void workers_done(Workers *w) {
        for (size_t i = 0; w->items && i < w->n; i++) {
                free(w->items[i].entry.options);
                free(w->items[i].entry.what);
                free(w->items[i].entry.where);
        }
        free(w->items);
}

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

        w->begun = true;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        w->pid = fork();
        if (w->pid < 0) {
                w->pid = 0;
                return -errno;
        }
        if (w->pid == 0) {
                close(fds[0]);
                worker_main(&w->entry, fds[1]);
        }

        w->fd = TAKE_FD(fds[0]);
        w->deadline = now_usec() + w->entry.give_up_usec + 2 * w->entry.timeout_usec + SLACK_USEC;
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
        w->pid = 0;
        w->fd = safe_close(w->fd);
        w->n_report = (size_t) snprintf(w->report, REPORT_MAX,
                        "mounts.timeout\n%s at %s: no end in sight", w->entry.what, w->entry.where);
}

/* What is below a mount that is not there stays away: it would be mounted on another disk. */
static void worker_skip(Worker *w, const Worker *parent) {
        w->begun = w->skipped = true;
        w->n_report = (size_t) snprintf(w->report, REPORT_MAX,
                        "mounts.parent\n%s at %s: not mounted, for %s above it has failed",
                        w->entry.what, w->entry.where, parent->entry.where);
}

/* Starts whose parent has ended well; whose parent has not, never. */
static int start_ready(Worker *workers, size_t n) {
        for (bool again = true; again;) {
                again = false;
                for (size_t i = 0; i < n; i++) {
                        Worker *w = &workers[i],
                               *parent = w->parent >= 0 ? &workers[w->parent] : NULL;
                        int r = 0;

                        if (w->begun || (parent && (!parent->begun || parent->pid > 0)))
                                continue;
                        again = true;
                        if (parent && parent->n_report > 0)
                                worker_skip(w, parent);
                        else
                                r = worker_start(w);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* The first limit that passes, or 0 where nobody is at work. */
static uint64_t next_deadline(const Worker *workers, size_t n) {
        uint64_t next = 0;

        for (size_t i = 0; i < n; i++)
                if (workers[i].pid > 0 && (next == 0 || workers[i].deadline < next))
                        next = workers[i].deadline;
        return next;
}

/* Waits for what any of them says; who is beyond every limit is left behind. False once nobody is
 * at work. */
static bool collect_some(Worker *workers, size_t n, struct pollfd *p) {
        uint64_t now = now_usec(), deadline = next_deadline(workers, n);

        if (deadline == 0)
                return false;
        for (size_t i = 0; i < n; i++)
                p[i] = (struct pollfd) { .fd = workers[i].fd, .events = POLLIN };

        int limit_ms = (int) MIN((deadline - MIN(now, deadline)) / USEC_PER_MSEC + 1, POLL_MAX_MS);
        if (poll(p, n, limit_ms) < 0)
                return errno == EINTR;
        for (size_t i = 0; i < n; i++) {
                if (workers[i].fd >= 0 && p[i].revents)
                        worker_read(&workers[i]);
                if (workers[i].pid > 0 && now_usec() >= workers[i].deadline)
                        worker_abandon(&workers[i]);
        }
        return true;
}

/* Starts them in their order and collects the reports. A failure leaves the others to their end. */
static int run_all(Worker *workers, size_t n) {
        _cleanup_free_ struct pollfd *p = calloc(n + 1, sizeof(*p));
        int r, first = 0;

        if (!p)
                return -ENOMEM;
        do {
                r = start_ready(workers, n);
                first = first < 0 ? first : r;
        } while (collect_some(workers, n, p));
        return first;
}

/* Lustre's client waits in the kernel for servers that begin, for more than a minute, and whoever
 * mounts cannot be interrupted there: ended early, each try would leave a process behind that goes
 * on beside the next. */
static uint64_t type_timeout(const char *type) {
        return streq_ptr(type, "lustre") ? 120 * USEC_PER_SEC : 30 * USEC_PER_SEC;
}

static int read_entry(StepContext *c, json_object *o, MountEntry *e) {
        *e = (MountEntry) {
                .what = mount_path(json_get_string(o, "what")),
                .where = mount_path(json_get_string(o, "where")),
                .type = json_get_string(o, "type"),
                .verify = json_get_string(o, "verify"),
                .config = c->config,
                .required = json_get_bool(o, "required", true),
                .timeout_usec = config_duration(
                                o, "timeout", type_timeout(json_get_string(o, "type"))),
                .give_up_usec = attempt_give_up(c, o, 300 * USEC_PER_SEC),
                .seed = retry_seed(c->seed, strempty(json_get_string(o, "where"))),
        };
        e->options = full_options(json_get_string(o, "options"), e->type);
        return e->what && e->where && e->options ? 0 : -ENOMEM;
}

static int read_all(StepContext *c, Worker *workers, size_t n) {
        _cleanup_free_ const char **where = calloc(n + 1, sizeof(char *));
        int r;

        if (!where)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                workers[i].fd = -EBADF;
                r = read_entry(c, json_object_array_get_idx(c->section, i), &workers[i].entry);
                if (r < 0)
                        return r;
                where[i] = workers[i].entry.where;
        }
        for (size_t i = 0; i < n; i++)
                workers[i].parent = mount_parent(where, n, i);
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

/* The first failure is the step's: a reason before what came of it. Returns how many are
 * mounted. */
static size_t take_reports(StepContext *c, const Workers *w) {
        size_t good = 0;

        for (size_t i = 0; i < w->n; i++)
                if (!w->items[i].skipped)
                        good += take_report(c, &w->items[i]);
        for (size_t i = 0; i < w->n; i++)
                if (w->items[i].skipped)
                        (void) take_report(c, &w->items[i]);
        return good;
}

int mounts_run(StepContext *c) {
        _cleanup_(workers_done) Workers w = {};
        json_object *list = c->section;
        int r;

        w.n = json_array_length(list);
        if (w.n == 0)
                return step_skip(c, "no mounts are configured");
        w.items = calloc(w.n, sizeof(Worker));
        if (!w.items)
                return -ENOMEM;

        r = read_all(c, w.items, w.n);
        if (r < 0)
                return r;
        r = run_all(w.items, w.n);
        if (r < 0)
                return r;
        return step_done(c, "%zu of %zu mounted", take_reports(c, &w), w.n);
}
