/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Network file systems: all entries at once, each in a process of its own that mounts through a
 * transient unit, tries again with growing pauses, and proves the mount by using it. A server that
 * never answers costs its own entry the limit and nobody else anything. */

#include "steps/step.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define CONNECT_MS 3000
#define PAUSE_MAX_USEC (30 * USEC_PER_SEC)
#define SLACK_USEC (60 * USEC_PER_SEC)
#define REPORT_MAX 4096

typedef struct Entry {
        const char *what, *where, *type, *verify;
        char *options;
        bool required;
        uint64_t timeout_usec, give_up_usec;
        pid_t pid;
        int fd; /* the child's verdict: "CODE\nTEXT", or nothing where all is well */
        char report[REPORT_MAX];
        size_t n_report;
} Entry;

static uint64_t now_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * USEC_PER_SEC + (uint64_t) t.tv_nsec / NSEC_PER_USEC;
}

/* The port of an NFS server: port=N among the options, or the registered one. */
static char *nfs_port(const char *options) {
        _cleanup_strv_free_ char **words = strv_split(options, ",");

        STRV_FOREACH (w, words) {
                const char *port = startswith(*w, "port=");
                if (port && port[0])
                        return strdup(port);
        }
        return strdup("2049");
}

/* Tells "cannot be reached" from "does not let us": 0, or the negative errno of connecting. */
static int connect_to_server(const Entry *e) {
        bool lustre = streq(e->type, "lustre");
        _cleanup_free_ char *port = lustre ? strdup("988") : nfs_port(e->options);
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *host = NULL;
        int error = 0;
        socklen_t size = sizeof(error);

        if (e->what[0] == '[')
                host = strndup(e->what + 1, strcspn(e->what + 1, "]"));
        else
                host = strndup(e->what, strcspn(e->what, lustre ? "@:," : ":"));
        if (!host || !port)
                return -ENOMEM;
        if (getaddrinfo(host, port, &hints, &list) != 0)
                return -EHOSTUNREACH;
        fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int r = fd < 0 ? -errno : connect(fd, list->ai_addr, list->ai_addrlen) < 0 ? -errno : 0;
        freeaddrinfo(list);
        if (r != -EINPROGRESS)
                return r;
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        if (poll(&p, 1, CONNECT_MS) == 0)
                return -ETIMEDOUT;
        return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
}

static int use_mount(const Entry *e) {
        static const char probe[] = "firstboot was here\n";
        _cleanup_free_ char *path = strf("%s/.firstboot-probe-%d-%llx", e->where, getpid(),
                                            (unsigned long long) now_usec()),
                            *text = NULL;
        int r;

        DIR *d = opendir(e->where);
        if (!d)
                return -errno;
        errno = 0;
        (void) readdir(d);
        r = -errno;
        closedir(d);
        if (r < 0 || !streq(e->verify, "write"))
                return r;
        if (!path)
                return -ENOMEM;
        r = write_file_durable(path, probe, strlen(probe), 0600);
        if (r >= 0)
                r = read_file(path, sizeof(probe), &text, NULL);
        if (r >= 0 && !streq(text, probe))
                r = -EIO;
        if (unlink(path) < 0 && r >= 0)
                r = -errno;
        return r < 0 ? -EROFS : 0;
}

/* A dead server holds whoever asks it; so a child asks. */
static int verify_mount(const Entry *e) {
        _cleanup_close_ int pidfd = -EBADF;
        int status = 0;

        if (streq(e->verify, "none"))
                return 0;
        pid_t pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                _exit(-use_mount(e) & 0xff);
        }
        pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
        struct pollfd p = { .fd = pidfd, .events = POLLIN };
        if (pidfd < 0 || poll(&p, 1, (int) MIN(e->timeout_usec / USEC_PER_MSEC, 3600000u)) <= 0) {
                kill(pid, SIGKILL); /* not waited for: it may be stuck in the kernel */
                return -ETIMEDOUT;
        }
        if (waitpid(pid, &status, 0) < 0)
                return -errno;
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

typedef struct Trouble {
        const char *code;
        char *text;
        bool lasting; /* trying again cannot help */
} Trouble;

/* One try. Fills *t where it went wrong. */
static void try_once(sd_bus *bus, const Entry *e, Trouble *t) {
        _cleanup_free_ char *source = NULL, *result = NULL;
        int r;

        if (mounted_at(e->where, &source)) {
                if (!streq(source, e->what)) {
                        *t = (Trouble) { "mounts.blocked", strf("%s is mounted there", source),
                                true };
                        return;
                }
        } else {
                MountUnit m = { e->what, e->where, e->type, e->options, "Network file system", true,
                        e->timeout_usec };

                r = mkdir_p(e->where, 0755);
                if (r < 0) {
                        *t = (Trouble) { "mounts.blocked",
                                strf("mount point cannot be made: %s", strerror(-r)), true };
                        return;
                }
                r = unit_mount(bus, &m, &result);
                if (r < 0) {
                        int reach = connect_to_server(e);

                        if (reach < 0)
                                *t = (Trouble) { "mounts.unreachable",
                                        strf("the server cannot be reached: %s", strerror(-reach)),
                                        false };
                        else
                                *t = (Trouble) { r == -ETIMEDOUT ? "mounts.timeout"
                                                                 : "mounts.refused",
                                        strf("mount %s, though the server accepts connections",
                                                        isempty(result) ? strerror(-r) : result),
                                        false };
                        return;
                }
                if (!mounted_at(e->where, NULL)) {
                        *t = (Trouble) { "mounts.refused",
                                strdup("systemd reports success, but nothing is mounted"), false };
                        return;
                }
        }
        r = verify_mount(e);
        if (r == -EROFS)
                *t = (Trouble) { "mounts.not-writable",
                        strdup("a test file could not be written, read back and removed"), false };
        else if (r < 0)
                *t = (Trouble) { "mounts.not-readable", strf("listing it: %s", strerror(-r)),
                        false };
}

static void mount_entry(const Entry *e, int fd) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        uint64_t deadline = now_usec() + e->give_up_usec, pause = USEC_PER_SEC;
        int r;

        for (unsigned n = 1;; n++) {
                uint64_t random = 0;
                Trouble t = {};

                r = bus ? 0 : unit_bus(&bus);
                if (r < 0)
                        t = (Trouble) { "mounts.refused",
                                strf("the system bus does not answer: %s", strerror(-r)), false };
                else
                        try_once(bus, e, &t);
                if (!t.code) {
                        log_info("%s is mounted at %s and good.", e->what, e->where);
                        return;
                }
                log_warning("%s at %s, try %u: %s", e->what, e->where, n, strempty(t.text));
                if (t.lasting || now_usec() + pause >= deadline) {
                        _cleanup_free_ char *report = strf("%s\n%s at %s: %s (%u tries)", t.code,
                                        e->what, e->where, strempty(t.text), n);

                        if (report)
                                (void) write_all(fd, report,
                                                MIN(strlen(report), (size_t) REPORT_MAX - 1));
                        return;
                }
                free(t.text);
                if (bus && !sd_bus_is_open(bus))
                        bus = sd_bus_close_unref(bus);
                (void) getrandom(&random, sizeof(random), GRND_NONBLOCK);
                usleep((useconds_t) (pause / 2 + random % (pause / 2)));
                pause = MIN(pause * 2, PAUSE_MAX_USEC);
        }
}

static char *full_options(const char *given, const char *type) {
        const char *o = strempty(given);
        /* mount.nfs would repeat by itself for two minutes; trying again is our business. */
        bool retry = startswith(type, "nfs") && !strstr(o, "retry=");

        return strf("_netdev%s%s%s", retry ? ",retry=0" : "", o[0] ? "," : "", o);
}

static int start_entry(Entry *e) {
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        e->pid = fork();
        if (e->pid < 0) {
                int r = -errno;

                safe_close(fds[0]);
                safe_close(fds[1]);
                return r;
        }
        if (e->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                close(fds[0]);
                mount_entry(e, fds[1]);
                _exit(0);
        }
        close(fds[1]);
        e->fd = fds[0];
        return 0;
}

/* Collects the children's verdicts; who is beyond every limit is left behind. */
static void collect(Entry *entries, size_t n) {
        uint64_t deadline = 0;

        for (size_t i = 0; i < n; i++)
                deadline = MAX(deadline, now_usec() + entries[i].give_up_usec +
                                                         2 * entries[i].timeout_usec + SLACK_USEC);
        for (;;) {
                _cleanup_free_ struct pollfd *p = calloc(n, sizeof(*p));
                size_t open = 0;
                uint64_t now = now_usec();

                for (size_t i = 0; p && i < n; i++) {
                        p[i] = (struct pollfd) { .fd = entries[i].fd, .events = POLLIN };
                        open += entries[i].fd >= 0;
                }
                if (!p || open == 0 || now >= deadline)
                        break;
                if (poll(p, n, (int) MIN((deadline - now) / USEC_PER_MSEC + 1, 3600000u)) < 0 &&
                                errno != EINTR)
                        break;
                for (size_t i = 0; i < n; i++) {
                        Entry *e = &entries[i];

                        if (e->fd < 0 || !p[i].revents)
                                continue;
                        ssize_t got = read(e->fd, e->report + e->n_report,
                                        sizeof(e->report) - 1 - e->n_report);
                        if (got > 0)
                                e->n_report += (size_t) got;
                        else {
                                e->fd = safe_close(e->fd);
                                waitpid(e->pid, NULL, 0);
                                e->pid = 0;
                        }
                }
        }
        for (size_t i = 0; i < n; i++)
                if (entries[i].pid > 0) {
                        kill(entries[i].pid, SIGKILL);
                        entries[i].fd = safe_close(entries[i].fd);
                        entries[i].n_report = (size_t) snprintf(entries[i].report, REPORT_MAX,
                                        "mounts.timeout\n%s at %s: no end in sight",
                                        entries[i].what, entries[i].where);
                }
}

int mounts_run(StepContext *c) {
        json_object *list = c->section;
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0,
               good = 0;
        _cleanup_free_ Entry *entries = calloc(n + 1, sizeof(Entry));
        int r = 0;

        if (!entries)
                return -ENOMEM;
        if (n == 0)
                return step_skip(c, "no mounts are configured");
        for (size_t i = 0; i < n && r >= 0; i++) {
                json_object *o = json_object_array_get_idx(list, i);

                entries[i] = (Entry) {
                        .what = json_get_string(o, "what"),
                        .where = json_get_string(o, "where"),
                        .type = json_get_string(o, "type"),
                        .verify = json_get_string(o, "verify"),
                        .required = json_get_bool(o, "required", true),
                        .timeout_usec = config_duration(o, "timeout", 30 * USEC_PER_SEC),
                        .give_up_usec = config_duration(o, "give_up", 300 * USEC_PER_SEC),
                        .fd = -EBADF,
                };
                entries[i].options = full_options(json_get_string(o, "options"), entries[i].type);
                r = entries[i].options ? start_entry(&entries[i]) : -ENOMEM;
        }
        collect(entries, n);
        for (size_t i = 0; i < n; i++) {
                Entry *e = &entries[i];
                char *text = strchr(e->report, '\n');

                free(e->options);
                if (!text) {
                        good++;
                        continue;
                }
                *text++ = '\0';
                if (e->required)
                        (void) step_fail_later(c, e->report, "%s", text);
                else
                        (void) step_degrade(c, e->report, "%s", text);
        }
        if (r < 0)
                return r;
        return step_done(c, "%zu of %zu mounted", good, n);
}
