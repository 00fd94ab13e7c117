/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One machine's port on a link. QEMU sends each frame as a datagram to LINK_PORT_SOCKET in the
 * machine's folder; the port hands it to the socket of its destination in the link's folder, or to
 * all of them. What arrives at the port's own socket there goes to QEMU. A receiver that is behind
 * loses frames, as on any network; one that is gone leaves a dead socket, which the next sender
 * clears away. */

#include "boot/link.h"

#include "shared/file-util.h"
#include "shared/folder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#define FRAME_MAX 65536
#define MAC_BYTES 6
#define BUFFER_BYTES (4 * 1024 * 1024) /* a few hundred frames of 9000 bytes */

typedef struct Port {
        int link_dir, vm_dir; /* sockets are reached through them: a socket's path has 108 bytes */
        int link_fd, vm_fd;
        char own[VM_MAC_SIZE], qemu[32];
} Port;

static void port_done(Port *p) {
        safe_close(p->link_dir);
        safe_close(p->vm_dir);
        safe_close(p->link_fd);
        safe_close(p->vm_fd);
}

static struct sockaddr_un address_in(int dir, const char *name) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", dir, name);
        return a;
}

/* Whether somebody listens at the socket. */
static bool taken(int dir, const char *name) {
        struct sockaddr_un a = address_in(dir, name);
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        return fd >= 0 && connect(fd, (struct sockaddr *) &a, sizeof(a)) >= 0;
}

static int open_socket(int dir, const char *name, int *ret) {
        struct sockaddr_un a = address_in(dir, name);
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const int size = BUFFER_BYTES;

        if (fd < 0)
                return -errno;
        (void) unlinkat(dir, name, 0);
        if (bind(fd, (struct sockaddr *) &a, sizeof(a)) < 0)
                return -errno;

        (void) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        *ret = TAKE_FD(fd);
        return 0;
}

/* Only to a socket that lies there itself: who may write to the folder (QEMU to the machine's,
 * whoever left a state to the link's) might have made a link, which would lead to sockets of the
 * host's. -errno. */
static int send_into(const Port *p, int dir, const char *name, const void *frame, size_t size) {
        _cleanup_close_ int there = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        struct stat st;

        if (there < 0 || fstat(there, &st) < 0)
                return -errno;
        if (!S_ISSOCK(st.st_mode))
                return -ENOTSOCK;
        snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d", there);
        return sendto(p->vm_fd, frame, size, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *) &a,
                               sizeof(a)) < 0
                               ? -errno
                               : 0;
}

static void send_to(Port *p, const char *name, const void *frame, size_t size) {
        if (send_into(p, p->link_dir, name, frame, size) == -ECONNREFUSED)
                (void) unlinkat(p->link_dir, name, 0); /* its machine was killed */
}

static void to_qemu(Port *p, const void *frame, size_t size) {
        (void) send_into(p, p->vm_dir, p->qemu, frame, size);
}

static void send_to_all(Port *p, const void *frame, size_t size) {
        int fd = openat(p->link_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *d = NULL;

        if (fd < 0 || folder_from_fd(fd, &d) < 0)
                return;
        FOLDER_FOREACH (name, d)
                if (strlen(name) == VM_MAC_SIZE - 1 && !streq(name, p->own))
                        send_to(p, name, frame, size);
}

/* A guest behind a guest (a bridge, a container) has an address that no socket is named by. */
static void from_qemu(Port *p, const unsigned char *frame, size_t size) {
        char to[VM_MAC_SIZE];

        snprintf(to, sizeof(to), "%02x:%02x:%02x:%02x:%02x:%02x", frame[0], frame[1], frame[2],
                        frame[3], frame[4], frame[5]);
        if ((frame[0] & 1) || faccessat(p->link_dir, to, F_OK, 0) < 0)
                send_to_all(p, frame, size);
        else
                send_to(p, to, frame, size);
}

static _noreturn_ void port_main(Port *p, pid_t parent) {
        static unsigned char frame[FRAME_MAX];
        struct pollfd fds[] = {
                { .fd = p->link_fd, .events = POLLIN },
                { .fd = p->vm_fd, .events = POLLIN },
        };

        setpgid(0, 0); /* a Ctrl-C is for the parent */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(127);

        for (;;) {
                ssize_t n;

                if (poll(fds, ELEMENTSOF(fds), -1) < 0 && errno != EINTR)
                        _exit(1);
                while ((n = recv(p->vm_fd, frame, sizeof(frame), 0)) >= 2 * MAC_BYTES)
                        from_qemu(p, frame, (size_t) n);
                while ((n = recv(p->link_fd, frame, sizeof(frame), 0)) >= 2 * MAC_BYTES)
                        to_qemu(p, frame, (size_t) n);
        }
}

static int open_folder(const char *path, int flags, int *ret) {
        int fd;

        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
        if (fd < 0)
                return -errno;
        *ret = fd;
        return 0;
}

static int port_open(Port *p, const VmLink *l, const char *vm_folder, size_t index) {
        _cleanup_free_ char *folder = path_join(l->folder ? l->folder : LINK_FOLDER, l->name);
        char name[32];
        int r;

        if (!folder)
                return -ENOMEM;
        r = mkdir_p(folder, 0700);
        if (r < 0)
                return r;
        r = open_folder(folder, O_NOFOLLOW, &p->link_dir);
        if (r < 0)
                return r;
        r = open_folder(vm_folder, 0, &p->vm_dir);
        if (r < 0)
                return r;

        snprintf(p->own, sizeof(p->own), "%s", l->mac);
        snprintf(p->qemu, sizeof(p->qemu), LINK_QEMU_SOCKET, index);
        snprintf(name, sizeof(name), LINK_PORT_SOCKET, index);
        r = open_socket(p->vm_dir, name, &p->vm_fd);
        if (r < 0)
                return r;
        return taken(p->link_dir, p->own) ? -EADDRINUSE
                                          : open_socket(p->link_dir, p->own, &p->link_fd);
}

int link_start(const VmLink *l, const char *vm_folder, size_t index, pid_t *ret) {
        _cleanup_(port_done) Port p = {
                .link_dir = -EBADF,
                .vm_dir = -EBADF,
                .link_fd = -EBADF,
                .vm_fd = -EBADF,
        };
        pid_t parent = getpid(), pid;
        int r;

        r = port_open(&p, l, vm_folder, index);
        if (r < 0)
                return r;

        fflush(NULL); /* or the child would write it again */
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                port_main(&p, parent);
        *ret = pid;
        return 0;
}

/* Its socket goes, and with the last one the link. */
static void forget(const VmLink *l) {
        _cleanup_free_ char *folder = path_join(l->folder ? l->folder : LINK_FOLDER, l->name),
                            *path = folder ? path_join(folder, l->mac) : NULL;

        if (!path)
                return;
        (void) unlink(path);
        (void) rmdir(folder);
}

void link_stop(const VmLink *l, pid_t pid) {
        if (pid <= 0)
                return;
        (void) kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        forget(l);
}
