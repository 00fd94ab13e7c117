/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A machine of a cluster, from the file's words to a process that boots it. */

#include "boot/machine.h"

#include "inspect/inspect.h"
#include "shared/file-util.h"
#include "shared/size.h"
#include "shared/time-util.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define END_USEC (20 * USEC_PER_SEC)

static int wrong(const Machine *m, const char *key, const char *value, const char *problem) {
        log_error("Machine %s: \"%s\": \"%s\": %s", m->what->name, key, value, problem);
        return -EINVAL;
}

/* A recipe's name is its image in the output folder. */
static int set_image(Machine *m, const ClusterOptions *o) {
        const char *name = m->what->image, *format;
        bool path = strchr(name, '/');
        int r;

        m->image = path ? strdup(name) : strf("%s/%s/%s.qcow2", o->output, name, name);
        if (!m->image)
                return log_oom();
        if (!path && access(m->image, F_OK) < 0) {
                log_error("Machine %s: there is no %s; 'imgbuild build images/%s.json' bakes it",
                                m->what->name, m->image, name);
                return -ENOENT;
        }

        r = image_format_log(m->image, &format);
        if (r < 0)
                return r;
        m->o.image = m->image;
        return 0;
}

static int set_disks(Machine *m) {
        const ClusterMachine *w = m->what;
        const char *problem = "out of memory";

        if (w->memory && (parse_bytes(w->memory, &m->o.vm.memory) < 0 ||
                                         m->o.vm.memory < UINT64_C(64) << 20))
                return wrong(m, "memory", w->memory, "at least 64M, such as 2G");
        if (w->disk_size && (parse_bytes(w->disk_size, &m->o.disk_size) < 0 ||
                                            m->o.disk_size < UINT64_C(1) << 20))
                return wrong(m, "disk_size", w->disk_size, "a size such as 20G");
        STRV_FOREACH (disk, w->nvme)
                if (vm_add_nvme(&m->o.vm, *disk, &problem) < 0)
                        return wrong(m, "nvme", *disk, problem);
        STRV_FOREACH (link, w->links)
                if (vm_add_link(&m->o.vm, *link, &problem) < 0)
                        return wrong(m, "links", *link, problem);
        return 0;
}

int machine_set(Machine *m, const ClusterMachine *what, const ClusterOptions *o) {
        int r;

        *m = (Machine) {
                .what = what,
                .fd = -EBADF,
                .o = {
                        .until = what->until ? what->until : "ready",
                        .timeout = o->timeout,
                        .accel = o->accel,
                        .user_data = what->user_data,
                        .hostname = what->name,
                        .keep = true,
                        .vm = { .cpus = what->cpus ? what->cpus : 1, .memory = UINT64_C(2) << 30 },
                },
        };
        r = set_image(m, o);
        if (r < 0)
                return r;
        r = set_disks(m);
        if (r < 0)
                return r;
        return boot_options_check(&m->o);
}

void machine_done(Machine *m) {
        safe_close(m->fd);
        boot_options_done(&m->o);
        free(m->image);
        free(m->address);
        free(m->state_folder);
        free(m->save_folder);
}

/* Messages go the way of all else that a machine tells. */
static void tell_message(int level, const char *line, void *userdata) {
        const Machine *m = userdata;
        char text[MACHINE_LINE_MAX];
        int n = snprintf(text, sizeof(text) - 1, "log %d %s", level, line);
        size_t size = MIN((size_t) MAX(n, 0), sizeof(text) - 2);

        text[size] = '\n';
        (void) !write(m->o.report_fd, text, size + 1);
}

static _noreturn_ void machine_main(Machine *m, const Context *ctx, Tools *tools, pid_t parent) {
        Context own = *ctx;

        setpgid(0, 0); /* a Ctrl-C is for the parent, which ends us all */
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
                _exit(EXIT_FAILED);
        own.progress = NULL;
        log_set_program(NULL);
        log_set_writer(tell_message, m);
        _exit(boot_run(&own, tools, &m->o));
}

int machine_start(Machine *m, Context *ctx, Tools *tools) {
        pid_t parent = getpid();
        int fds[2];

        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        m->o.report_fd = fds[1];
        fflush(NULL); /* or the child would write it again */
        m->pid = fork();
        if (m->pid == 0)
                machine_main(m, ctx, tools, parent);

        close(fds[1]);
        m->fd = fds[0];
        if (m->pid < 0)
                return -errno;
        m->state = MACHINE_BOOTING;
        progress_set(ctx->progress, m->what->name, PROGRESS_RUNNING);
        return 0;
}

typedef struct Hearing {
        Machine *machine;
        Progress *progress;
} Hearing;

static void on_line(const char *line, size_t size _unused_, void *userdata) {
        const Hearing *hearing = userdata;
        Machine *m = hearing->machine;
        const char *rest;

        rest = startswith(line, "phase ");
        if (rest)
                snprintf(m->phase, sizeof(m->phase), "%s", rest);

        const char *last = startswith(line, "last ");
        if (rest || last) {
                _cleanup_free_ char *text =
                                strf("%s%s%s", m->phase, last ? ": " : "", strempty(last));

                progress_detail(hearing->progress, m->what->name, strempty(text));
        }

        rest = startswith(line, "log ");
        if (rest && rest[0] && rest[1] == ' ' && rest[0] - '0' <= LOG_ERR)
                log_relay(rest[0] - '0', m->what->name, rest + 2);

        if (streq(line, "up") && m->state == MACHINE_BOOTING) {
                m->state = MACHINE_UP;
                progress_set(hearing->progress, m->what->name, PROGRESS_DONE);
        }
}

void machine_look(Machine *m, Progress *progress) {
        int status;
        pid_t pid;

        if (m->state != MACHINE_BOOTING && m->state != MACHINE_UP)
                return;

        pid = waitpid(m->pid, &status, WNOHANG);
        line_buffer_read(&m->lines, m->fd, on_line, &(Hearing) { m, progress });
        if (pid == 0 || (pid < 0 && errno == EINTR))
                return;
        if (m->state == MACHINE_BOOTING)
                progress_set(progress, m->what->name, PROGRESS_FAILED);
        m->code = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
        m->state = MACHINE_ENDED;
}

static bool running(const Machine *m) {
        return m->state == MACHINE_BOOTING || m->state == MACHINE_UP;
}

void machine_interrupt(Machine *m) {
        if (running(m))
                (void) kill(m->pid, SIGINT);
}

void machine_kill(Machine *m) {
        const struct timespec step = { .tv_nsec = 20 * 1000 * 1000 };

        for (uint64_t end = now_usec() + END_USEC; running(m) && now_usec() < end;) {
                machine_look(m, NULL);
                nanosleep(&step, NULL);
        }
        if (!running(m))
                return;
        (void) kill(m->pid, SIGKILL); /* QEMU goes with it */
        (void) waitpid(m->pid, NULL, 0);
        m->state = MACHINE_ENDED;
}
