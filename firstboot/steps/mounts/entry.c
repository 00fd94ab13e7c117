/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One network file system: mounted through a transient unit, tried again with growing pauses, and
 * proved by using it. */

#include "steps/mounts/entry.h"
#include "contract/paths.h"
#include "contract/retry.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/older-systemd.h"
#include "shared/pidfd.h"
#include "shared/strv.h"
#include "shared/time-util.h"
#include "steps/common/mount-table.h"
#include "steps/common/mount-unit.h"
#include "steps/common/own-file.h"
#include "steps/common/status-document.h"
#include "steps/common/unit.h"
#include "steps/mounts/order.h"

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CONNECT_MS 3000
#define VERIFY_MAX_MS 3600000u

/* Why a try failed; no code: it did not. */
typedef struct Trouble {
        const char *code;
        char *text;
        bool lasting; /* trying again cannot help */
} Trouble;

static void trouble_done(Trouble *t) {
        free(t->text);
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

/* The server's name in "server:/export", "[address]:/export" or, for Lustre, "server@tcp:/name". */
static char *server_name(const MountEntry *e) {
        if (e->what[0] == '[')
                return strndup(e->what + 1, strcspn(e->what + 1, "]"));
        return strndup(e->what, strcspn(e->what, streq(e->type, "lustre") ? "@:," : ":"));
}

/* Whether NFS 3 is asked for, and nothing says where its mount service is: then the server's port
 * mapper has to. */
static bool needs_portmapper(const MountEntry *e) {
        _cleanup_strv_free_ char **words = strv_split(e->options, ",");

        return startswith(e->type, "nfs") && !strstr(e->options, "mountport=") &&
               (strv_contains(words, "vers=3") || strv_contains(words, "nfsvers=3") ||
                               strv_contains(words, "v3"));
}

/* Tells "cannot be reached" from "does not let us": 0, or the negative errno of connecting.
 * other_port: NULL: where the file system is served. */
static int connect_to_server(const MountEntry *e, const char *other_port) {
        bool lustre = streq(e->type, "lustre");
        _cleanup_free_ char *host = server_name(e), *port = other_port ? strdup(other_port)
                                                            : lustre   ? strdup("988")
                                                                       : nfs_port(e->options);
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
        _cleanup_close_ int fd = -EBADF;
        int error = 0;
        socklen_t size = sizeof(error);

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

/* Lists the mount and, where the entry asks for it, writes to it: -EROFS where that failed. */
static int use_mount(const MountEntry *e) {
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

        return folder_prove_writable(e->where) < 0 ? -EROFS : 0;
}

/* A dead server holds whoever asks it; so a child asks. */
static int verify_mount(const MountEntry *e) {
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

        pidfd = pidfd_of_child(pid);
        struct pollfd p = { .fd = pidfd, .events = POLLIN };
        int limit_ms = (int) MIN(e->timeout_usec / USEC_PER_MSEC, VERIFY_MAX_MS);
        if (pidfd < 0 || poll(&p, 1, limit_ms) <= 0) {
                kill(pid, SIGKILL); /* not waited for: it may be stuck in the kernel */
                return -ETIMEDOUT;
        }
        if (waitpid(pid, &status, 0) < 0)
                return -errno;
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

/* systemd's mount failed: was it the server, or what lies between? */
static Trouble explain_failure(const MountEntry *e, int error, const char *result) {
        int reach = connect_to_server(e, NULL);

        if (reach < 0)
                return (Trouble) { "mounts.unreachable",
                        strf("the server cannot be reached: %s", strerror(-reach)), false };
        reach = needs_portmapper(e) ? connect_to_server(e, "111") : 0;
        if (reach < 0)
                return (Trouble) { "mounts.unreachable",
                        strf("the server's port mapper, which NFS 3 needs, cannot be reached: %s",
                                        strerror(-reach)),
                        false };
        return (Trouble) { error == -ETIMEDOUT ? "mounts.timeout" : "mounts.refused",
                strf("the server accepts connections, but the mount did not come about: %s",
                                unit_job_words(error, result)),
                false };
}

static Trouble mount_it(sd_bus *bus, const MountEntry *e) {
        MountUnit m = { e->what, e->where, e->type, e->options, "Network file system", true,
                e->timeout_usec };
        _cleanup_free_ char *result = NULL;
        int r;

        r = mkdir_p(e->where, 0755);
        if (r < 0)
                return (Trouble) { "mounts.blocked",
                        strf("mount point cannot be made: %s", strerror(-r)), true };
        r = mount_unit_start(bus, &m, &result);
        if (r < 0)
                return explain_failure(e, r, result);
        if (!mounted_at(e->where, NULL))
                return (Trouble) { "mounts.refused",
                        strdup("systemd reports success, but nothing is mounted"), false };
        return (Trouble) {};
}

/* The volume of the step scratch would hide what is mounted below its place before it came. */
static bool scratch_is_missing(const MountEntry *e) {
        const char *point = json_get_string(json_get(e->config, "scratch"), "mount_point");
        _cleanup_json_ json_object *status = NULL;
        JsonError error;

        if (!point || status_file_load(&error, &status, NULL) < 0)
                return false;
        return waits_for_scratch(e->where, e->config, status) && !mounted_at(point, NULL);
}

static Trouble explain_use(const MountEntry *e, int r) {
        if (r == -EROFS)
                return (Trouble) { "mounts.not-writable",
                        strdup("a test file could not be written, read back and removed"), false };
        if (r == -ESTALE)
                return (Trouble) { "mounts.stale",
                        strdup("the server no longer knows what was mounted (stale file handle)"),
                        false };
        return (Trouble) { "mounts.not-readable", strf("listing %s: %s", e->where, strerror(-r)),
                false };
}

/* Lustre's client is a part of an image that few have; the kernel's word for its absence ("unknown
 * filesystem type") would come after all tries, and only where the server answers. */
static bool client_is_missing(const MountEntry *e) {
        _cleanup_free_ char *program = fb_path("/usr/sbin/mount.lustre");

        return streq(e->type, "lustre") && program && access(program, X_OK) < 0;
}

static Trouble try_once(sd_bus *bus, const MountEntry *e) {
        _cleanup_free_ char *source = NULL;
        int r;

        if (mount_is_hidden(e->where))
                return (Trouble) { "mounts.hidden",
                        strdup("it is mounted, but something mounted above it later hides it"),
                        true };
        if (!mounted_at(e->where, &source)) {
                if (client_is_missing(e))
                        return (Trouble) { "mounts.no-client",
                                strdup("the image has no /usr/sbin/mount.lustre"), true };
                if (scratch_is_missing(e))
                        return (Trouble) { "mounts.parent",
                                strdup("scratch is not mounted above it"), false };

                Trouble t = mount_it(bus, e);

                if (t.code)
                        return t;
        } else if (!streq(source, e->what))
                return (Trouble) { "mounts.blocked", strf("%s is mounted there", source), true };

        r = verify_mount(e);
        return r < 0 ? explain_use(e, r) : (Trouble) {};
}

char *mount_entry(const MountEntry *e) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        RetryLoop loop = RETRY_LOOP_MOUNT(e->seed, now_usec() + e->give_up_usec);
        uint64_t pause;

        for (unsigned n = 1;; n++) {
                _cleanup_(trouble_done) Trouble t = {};
                int r = bus ? 0 : unit_bus(&bus);

                if (r < 0)
                        t = (Trouble) { "mounts.refused",
                                strf("the system bus does not answer: %s; systemctl status dbus.socket dbus.service shows why",
                                                strerror(-r)),
                                false };
                else
                        t = try_once(bus, e);
                if (!t.code) {
                        log_info("%s is mounted at %s and good.", e->what, e->where);
                        return NULL;
                }

                log_warning("%s at %s, try %u: %s", e->what, e->where, n, strempty(t.text));
                if (t.lasting || !retry_again(&loop, now_usec(), &pause))
                        return strf("%s\n%s at %s: %s (%u tries)", t.code, e->what, e->where,
                                        strempty(t.text), n);

                if (bus && !sd_bus_is_open(bus))
                        bus = sd_bus_close_unref(bus);
                usleep((useconds_t) pause);
        }
}

char *mount_path(const char *path) {
        size_t n = strlen(path);

        while (n > 1 && path[n - 1] == '/' && path[n - 2] != ':')
                n--;
        return strndup(path, n);
}
