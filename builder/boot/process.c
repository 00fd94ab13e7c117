/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* sandbox_run() waits for its command, and while QEMU runs there is a console to follow. So a
 * child of ours, the runner, does the waiting. However we end, the runner is told by the kernel,
 * and takes the sandbox with it. The monitor is a socket in the bound folder; it is reached
 * through a folder descriptor, as a socket's path has only 108 bytes. */

#include "boot/process.h"
#include "boot/qemu.h"
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

#define MONITOR_LINE_MAX 65536
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
        char line[MONITOR_LINE_MAX];
        size_t used;
};

static void write_line(const char *line, void *userdata) {
        FILE *f = userdata;

        fprintf(f, "%s\n", line);
        fflush(f);
}

static _noreturn_ void runner_main(
                Tools *tools, const VmFolders *folders, char *const argv[], pid_t parent) {
        const SandboxBind binds[] = {
                { .source = folders->folder, .target = VM_FOLDER, .writable = true },
                { .source = folders->logs, .target = VM_LOG_FOLDER, .writable = true },
                { .source = folders->image, .target = VM_IMAGE_FOLDER },
                { .source = "/dev/kvm", .target = "/dev/kvm", .device = true },
        };
        SpawnOptions options = { .on_line = write_line };
        Sandbox s;
        int r, status = 0;

        setpgid(0, 0); /* a Ctrl-C is for us, not for the machine */
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
                _exit(127);
        FILE *f = inside_print_output(folders->folder, LOG);
        if (!f)
                _exit(126);
        options.line_data = f;
        tools_sandbox(tools, &s);
        s.network = s.low_ports = true; /* for the forwards */
        s.binds = binds;
        s.n_binds = folders->kvm ? ELEMENTSOF(binds) : ELEMENTSOF(binds) - 1;
        r = sandbox_run(&s, &options, argv, &status);
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

static void monitor_connect(VmProcess *p) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct ucred peer;
        socklen_t size = sizeof(peer);
        struct stat st;
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                            there = openat(p->folder_fd, "qmp.sock",
                                            O_PATH | O_NOFOLLOW | O_CLOEXEC);

        /* A link that QEMU might have made instead would lead to sockets of the host's. */
        if (there < 0 || fstat(there, &st) < 0 || !S_ISSOCK(st.st_mode))
                return;
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", there);
        if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
                return; /* not there yet */
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) >= 0)
                p->qemu = peer.pid;
        p->monitor_fd = TAKE_FD(fd);
}

static void monitor_line(VmProcess *p, const char *line, size_t size,
                void (*on_event)(const char *event, json_object *data, void *userdata),
                void *userdata) {
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
        if (event && on_event)
                on_event(event, json_get(o, "data"), userdata);
}

void vm_monitor(VmProcess *p,
                void (*on_event)(const char *event, json_object *data, void *userdata),
                void *userdata) {
        ssize_t n;

        if (p->ended && p->monitor_fd < 0)
                return;
        if (p->monitor_fd < 0)
                monitor_connect(p);
        while (p->monitor_fd >= 0 && (n = read(p->monitor_fd, p->line + p->used,
                                                      sizeof(p->line) - p->used)) > 0) {
                char *newline;

                p->used += (size_t) n;
                while ((newline = memchr(p->line, '\n', p->used))) {
                        size_t length = (size_t) (newline - p->line);

                        *newline = '\0';
                        monitor_line(p, p->line, length, on_event, userdata);
                        memmove(p->line, newline + 1, p->used - length - 1);
                        p->used -= length + 1;
                }
                if (p->used == sizeof(p->line))
                        p->used = 0; /* no event is that long */
        }
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
