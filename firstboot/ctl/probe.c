/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Children and their pipes in one poll(). One that is beyond its limit is killed and not waited
 * for: it may be stuck in the kernel. */

#include "ctl/probe.h"
#include "contract/paths.h"
#include "contract/room.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define OUTPUT_MAX (1024 * 1024)
#define REAP_USEC (2 * USEC_PER_SEC)

void probe_done(Probe *p) {
        json_object_put(p->result);
        free(p->text);
}

_printf_(2, 3) static json_object *failure(const char *code, const char *format, ...) {
        json_object *o = json_object_new_object();
        char text[256];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        (void) json_set_fields(o, JSON_STRING("status", "failed"), JSON_STRING("code", code),
                        JSON_STRING("message", text));
        return o;
}

static _noreturn_ void child(const char *program, const Probe *p, int out) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) setpgid(0, 0);
        if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
                        dup2(out, STDOUT_FILENO) >= 0)
                execl(program, program, p->step, (char *) NULL);
        _exit(127);
}

static int start(Probe *p, const char *program) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        p->started_usec = now_usec();
        p->pid = fork();
        if (p->pid < 0) {
                p->pid = 0;
                return -errno;
        }
        if (p->pid == 0)
                child(program, p, fds[1]);
        p->fd = TAKE_FD(fds[0]);
        return 0;
}

static void kill_probe(Probe *p) {
        (void) kill(-p->pid, SIGKILL);
        (void) kill(p->pid, SIGKILL);
        (void) waitpid(p->pid, NULL, WNOHANG);
        p->fd = safe_close(p->fd);
        p->pid = 0;
}

/* The exit code, -1 for one that was killed or does not go although it closed its output. */
static int reap(Probe *p) {
        uint64_t deadline = now_usec() + REAP_USEC;
        int status = 0;
        pid_t r;

        while ((r = waitpid(p->pid, &status, WNOHANG)) == 0 && now_usec() < deadline)
                usleep(1000);
        if (r != p->pid)
                return -1;
        p->pid = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A message, which may be a server's words, stays on the line on which it is told, and does nothing
 * to a terminal. */
static void disarm_message(json_object *result) {
        const char *message = json_get_string(result, "message");
        _cleanup_free_ char *line = message ? strdup(message) : NULL;

        if (!line)
                return;
        text_disarm(line, false);
        (void) json_set_string(result, "message", line);
}

/* Of a probe without words: what it works with may lie in a /run that has no room left. An ordinary
 * user may not write there at all, which tells nothing. */
static json_object *without_words(const char *step, int code) {
        int r = room_prove();
        _cleanup_free_ char *words = NULL;

        if (r < 0 && r != -ENOMEM && r != -EACCES && r != -EPERM)
                words = room_words(PATH_RUN, r);
        if (words)
                return failure(ROOM_CODE, "%s", words);
        return failure("check.no-answer", "the probe of %s ended %s%d and said nothing", step,
                        code < 0 ? "by a signal, " : "with exit code ", code);
}

/* Its verdict: what it printed, unless how it ended says otherwise. */
static void finish(Probe *p) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        const char *word;
        int code = reap(p);

        if (p->pid > 0)
                kill_probe(p);
        p->fd = safe_close(p->fd);
        p->took_usec = now_usec() - p->started_usec;

        (void) json_parse(strempty(p->text), p->size, &e, &o);
        word = json_get_string(o, "status");
        if (!word || !strv_contains(ARGV("done", "degraded", "skipped", "failed"), word))
                p->result = without_words(p->step, code);
        else if (streq(word, "failed") == (code == 0))
                p->result = failure("check.no-answer", "the probe of %s says %s and ended with %d",
                                p->step, word, code);
        else
                p->result = TAKE_PTR(o);
        if (streq_ptr(json_get_string(p->result, "status"), "failed") &&
                        !json_get_string(p->result, "code"))
                (void) json_set_string(p->result, "code", "step.failed");
        disarm_message(p->result);
}

static void take_output(Probe *p) {
        char buffer[16384];
        ssize_t n = read(p->fd, buffer, sizeof(buffer));
        char *grown;

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (n <= 0 || p->size + (size_t) n > OUTPUT_MAX) {
                finish(p);
                return;
        }
        grown = realloc(p->text, p->size + (size_t) n + 1);
        if (!grown) {
                finish(p);
                return;
        }
        memcpy(grown + p->size, buffer, (size_t) n);
        p->text = grown;
        p->size += (size_t) n;
        p->text[p->size] = '\0';
}

static bool is_over(Probe *probes, size_t n, const char *step) {
        for (size_t i = 0; i < n; i++)
                if (streq(probes[i].step, step))
                        return probes[i].result;
        return true;
}

static bool may_start(Probe *probes, size_t n, const Probe *p) {
        if (p->pid > 0 || p->result)
                return false;
        STRV_FOREACH (step, p->after)
                if (!is_over(probes, n, *step))
                        return false;
        return true;
}

/* Starts what may start, and gives up what is beyond its limit. Returns the ms until something has
 * to be looked at again; -1: all are over. */
static int turn(Probe *probes, size_t n, const char *program) {
        char limit[FORMAT_DURATION_MAX];
        uint64_t now = now_usec(), next = UINT64_MAX;

        for (size_t i = 0; i < n; i++) {
                Probe *p = &probes[i];

                if (may_start(probes, n, p) && start(p, program) < 0)
                        p->result = failure("check.no-answer", "the probe of %s cannot be run: %s",
                                        p->step, strerror(errno));
                if (p->pid == 0)
                        continue;
                if (now >= p->started_usec + p->timeout_usec) {
                        kill_probe(p);
                        p->took_usec = now - p->started_usec;
                        p->result = failure("check.timeout",
                                        "the probe of %s did not end within %s", p->step,
                                        format_duration(limit, p->timeout_usec));
                        return 0; /* another may wait for this one */
                }
                next = MIN(next, p->started_usec + p->timeout_usec);
        }
        if (next == UINT64_MAX)
                return -1;
        now = now_usec();
        return next > now ? (int) MIN((next - now) / USEC_PER_MSEC + 1, (uint64_t) 60000) : 0;
}

static bool all_over(const Probe *probes, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!probes[i].result)
                        return false;
        return true;
}

int probes_run(Probe *probes, size_t n, const char *mode) {
        _cleanup_free_ struct pollfd *fds = calloc(n + 1, sizeof(*fds));
        _cleanup_free_ char *program = fb_path(PATH_STEP);

        if (!fds || !program || setenv("FIRSTBOOT_CHECK", mode, 1) < 0)
                return -ENOMEM;
        if (access(program, X_OK) < 0)
                return -errno;

        /* A caller that ignores it would have us see no child's end. */
        (void) signal(SIGCHLD, SIG_DFL);
        while (!all_over(probes, n)) {
                int wait_ms = turn(probes, n, program);

                for (size_t i = 0; i < n; i++)
                        fds[i] = (struct pollfd) { .fd = probes[i].pid > 0 ? probes[i].fd : -1,
                                .events = POLLIN };
                if (wait_ms < 0 || poll(fds, n, wait_ms) <= 0)
                        continue;
                for (size_t i = 0; i < n; i++)
                        if (probes[i].pid > 0 && fds[i].revents)
                                take_output(&probes[i]);
        }
        return 0;
}
