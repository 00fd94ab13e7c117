/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* sandbox_run() waits for its command, and while QEMU runs there is a console to follow. So a
 * child of ours, the runner, does the waiting. However we end, the runner is told by the kernel,
 * and takes the sandbox with it. The monitor is a socket in the bound folder; it is reached
 * through a folder descriptor, as a socket's path has only 108 bytes. */

#include "boot/process.h"
#include "boot/qemu.h"
#include "common/line-buffer.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#define LOG "qemu.log"
#define STOP_USEC (8 * USEC_PER_SEC)

struct VmProcess {
        pid_t runner;
        bool ended;
        int status;
        int folder_fd, monitor_fd;
        bool greeted, ready;
        pid_t qemu;
        char *folder;
        LineBuffer lines;
};

static void write_line(const char *line, void *userdata) {
        FILE *f = userdata;

        fprintf(f, "%s\n", line);
        fflush(f);
}

/* A log's place is that of its file alone: QEMU, which a guest may have taken over, sees neither
 * the store's other logs nor what else is in the folder of --save. */
static int add_log(const char *file, SandboxBind *binds, size_t *n) {
        char *target = file ? path_join(VM_LOG_FOLDER, path_basename(file)) : NULL;

        if (!file)
                return 0;
        if (!target)
                return -ENOMEM;
        binds[(*n)++] = (SandboxBind) { .source = file, .target = target, .writable = true };
        return 0;
}

int vm_binds(const VmFolders *f, SandboxBind binds[static VM_BINDS_MAX], size_t *ret_n) {
        size_t n = 0;
        int r;

        binds[n++] = (SandboxBind) { .source = f->folder, .target = VM_FOLDER, .writable = true };
        binds[n++] = (SandboxBind) { .source = f->image, .target = VM_IMAGE_FOLDER };
        if (f->kvm)
                binds[n++] = (SandboxBind) {
                        .source = "/dev/kvm", .target = "/dev/kvm", .device = true
                };
        r = add_log(f->console, binds, &n);
        if (r < 0)
                return r;
        r = add_log(f->journal, binds, &n);
        if (r < 0)
                return r;

        *ret_n = n;
        return 0;
}

static int run_qemu(Tools *tools, const VmFolders *folders, char *const argv[], FILE *log,
                int *ret_status) {
        const SpawnOptions options = { .on_line = write_line, .line_data = log };
        SandboxBind binds[VM_BINDS_MAX];
        Sandbox s;
        int r;

        tools_sandbox(tools, &s);
        s.network = s.low_ports = true; /* for the forwards */
        s.durable = true;               /* what its guest has synced */
        s.binds = binds;
        r = vm_binds(folders, binds, &s.n_binds);
        return r < 0 ? r : sandbox_run(&s, &options, argv, ret_status);
}

static _noreturn_ void runner_main(
                Tools *tools, const VmFolders *folders, char *const argv[], pid_t parent) {
        int r, status = 0;

        setpgid(0, 0); /* a Ctrl-C is for us, not for the machine */
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
                _exit(127);
        FILE *f = inside_print_output(folders->folder, LOG);
        if (!f)
                _exit(126);
        r = run_qemu(tools, folders, argv, f, &status);
        if (r < 0) {
                fprintf(f, "cannot run QEMU: %s\n", strerror(-r));
                status = 126;
        }
        fclose(f);
        _exit(status);
}

int vm_start(Tools *tools, const VmFolders *folders, char *const argv[], VmProcess **ret) {
        _cleanup_vm_free_ VmProcess *p = calloc(1, sizeof(*p));
        pid_t parent = getpid();

        if (!p)
                return -ENOMEM;
        p->folder_fd = p->monitor_fd = -EBADF;
        p->qemu = -1;
        p->ended = true;
        p->folder = strdup(folders->folder);
        if (!p->folder)
                return -ENOMEM;
        p->folder_fd = open(folders->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (p->folder_fd < 0)
                return -errno;
        (void) unlinkat(p->folder_fd, "qmp.sock", 0);
        (void) unlinkat(p->folder_fd, VM_CONSOLE_SOCKET, 0);
        fflush(NULL); /* or the runner would write it again */
        p->runner = fork();
        if (p->runner < 0)
                return -errno;
        if (p->runner == 0)
                runner_main(tools, folders, argv, parent);
        p->ended = false;
        *ret = TAKE_PTR(p);
        return 0;
}

bool vm_alive(VmProcess *p, int *ret_status) {
        if (!p->ended) {
                int status;
                pid_t pid = waitpid(p->runner, &status, WNOHANG);

                if (pid == 0 || (pid < 0 && errno == EINTR))
                        return true;
                p->ended = true;
                p->status = pid < 0               ? 126
                            : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                                  : WEXITSTATUS(status);
        }
        *ret_status = p->status;
        return false;
}

/* A socket that QEMU listens at in its folder: a descriptor, or -errno. */
static int connect_to(const VmProcess *p, const char *name) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct stat st;
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                            there = openat(p->folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0 || there < 0 || fstat(there, &st) < 0)
                return -errno;
        /* A link that QEMU might have made instead would lead to sockets of the host's. */
        if (!S_ISSOCK(st.st_mode))
                return -ENOTSOCK;
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", there);
        if (connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int vm_console(VmProcess *p) {
        return connect_to(p, VM_CONSOLE_SOCKET);
}

static void monitor_connect(VmProcess *p) {
        struct ucred peer;
        socklen_t size = sizeof(peer);
        _cleanup_close_ int fd = connect_to(p, "qmp.sock");

        if (fd < 0)
                return; /* not there yet */
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) >= 0)
                p->qemu = peer.pid;
        p->monitor_fd = TAKE_FD(fd);
}

typedef struct Monitoring {
        VmProcess *process;
        void (*on_event)(const char *event, json_object *data, void *userdata);
        void *userdata;
} Monitoring;

static void monitor_line(const char *line, size_t size, void *userdata) {
        const Monitoring *monitoring = userdata;
        VmProcess *p = monitoring->process;
        _cleanup_json_ json_object *o = NULL;
        JsonError error;
        const char *event;

        if (json_parse(line, size, &error, &o) < 0)
                return;
        if (json_get(o, "QMP") && !p->greeted) {
                static const char hello[] = "{\"execute\":\"qmp_capabilities\"}\n";
                p->greeted = write_all(p->monitor_fd, hello, strlen(hello)) >= 0;
        } else if (json_get(o, "return") && p->greeted)
                p->ready = true;
        event = json_get_string(o, "event");
        if (event && monitoring->on_event)
                monitoring->on_event(event, json_get(o, "data"), monitoring->userdata);
}

void vm_monitor(VmProcess *p,
                void (*on_event)(const char *event, json_object *data, void *userdata),
                void *userdata) {
        if (p->ended && p->monitor_fd < 0)
                return;
        if (p->monitor_fd < 0)
                monitor_connect(p);
        if (p->monitor_fd >= 0)
                line_buffer_read(&p->lines, p->monitor_fd, monitor_line,
                                &(Monitoring) { p, on_event, userdata });
}

bool vm_monitor_ready(const VmProcess *p) {
        return p->ready;
}

pid_t vm_qemu_pid(const VmProcess *p) {
        return p->qemu;
}

int vm_command(VmProcess *p, const char *command) {
        _cleanup_free_ char *text = strf("{\"execute\":\"%s\"}\n", command);

        if (!text)
                return -ENOMEM;
        if (!p->ready)
                return -ENOTCONN;
        return write_all(p->monitor_fd, text, strlen(text));
}

static bool wait_end(VmProcess *p, uint64_t usec) {
        const struct timespec step = { .tv_nsec = 20 * 1000 * 1000 };
        int status;

        for (uint64_t waited = 0; waited < usec; waited += 20 * USEC_PER_MSEC) {
                if (!vm_alive(p, &status))
                        return true;
                vm_monitor(p, NULL, NULL);
                nanosleep(&step, NULL);
        }
        return false;
}

void vm_stop(VmProcess *p) {
        int status;

        if (!vm_alive(p, &status))
                return;
        if (vm_command(p, "quit") >= 0 && wait_end(p, STOP_USEC / 4))
                return;
        kill(p->runner, SIGTERM);
        if (wait_end(p, STOP_USEC))
                return;
        kill(p->runner, SIGKILL); /* the sandbox goes with its parent */
        (void) wait_end(p, USEC_PER_SEC);
}

VmProcess *vm_free(VmProcess *p) {
        if (!p)
                return NULL;
        vm_stop(p);
        safe_close(p->monitor_fd);
        safe_close(p->folder_fd);
        free(p->folder);
        free(p);
        return NULL;
}

char *vm_last_words(const VmProcess *p) {
        _cleanup_free_ char *text = NULL;
        size_t size;

        if (inside_read_output(p->folder, LOG, 1024 * 1024, &text, &size) < 0)
                return NULL;
        while (size > 0 && text[size - 1] == '\n')
                text[--size] = '\0';
        if (size == 0)
                return NULL;
        char *newline = strrchr(text, '\n');
        const char *last = newline ? newline + 1 : text;
        const char *without = startswith(last, "qemu-system-x86_64: ");
        return strdup(without ? without : last);
}
