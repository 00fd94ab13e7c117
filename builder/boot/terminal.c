/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A console in the terminal of whoever called, and the way out of it. */

#include "boot/terminal.h"

#include "shared/file-util.h"
#include "shared/spawn.h"

#include <poll.h>
#include <sys/socket.h>
#include <termios.h>

#define TICK_MS 100

typedef struct Raw {
        int fd;
        bool changed;
        struct termios before;
} Raw;

/* Keys as they are typed; what is written stays as the terminal has it, for messages come in
 * between. */
static int raw_begin(Raw *raw, int fd) {
        struct termios t;

        *raw = (Raw) { .fd = fd };
        if (tcgetattr(fd, &raw->before) < 0)
                return -errno;
        t = raw->before;
        cfmakeraw(&t);
        t.c_oflag = raw->before.c_oflag;
        if (tcsetattr(fd, TCSADRAIN, &t) < 0)
                return -errno;
        raw->changed = true;
        return 0;
}

static void raw_end(Raw *raw) {
        if (raw->changed)
                (void) tcsetattr(raw->fd, TCSADRAIN, &raw->before);
}

/* 1: that was the way out. A guest that does not read loses keys; the way out stays open. */
static int take_keys(int fd, int in) {
        char keys[256];
        ssize_t n = read(in, keys, sizeof(keys));

        if (n < 0)
                return errno == EINTR || errno == EAGAIN ? 0 : errno == EIO ? 1 : -errno;
        if (n == 0)
                return 1;
        char *way_out = memchr(keys, TERMINAL_WAY_OUT, (size_t) n);
        size_t size = way_out ? (size_t) (way_out - keys) : (size_t) n;

        if (size > 0)
                (void) !send(fd, keys, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        return way_out ? 1 : 0;
}

/* 1: there is more to come; 0: the other side has ended. */
static int show(int fd, int out) {
        char text[65536];
        ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
        int r;

        if (n < 0)
                return errno == EINTR || errno == EAGAIN ? 1 : errno == ECONNRESET ? 0 : -errno;
        if (n == 0)
                return 0;
        r = write_all(out, text, (size_t) n);
        return r < 0 ? r : 1;
}

int terminal_join(int fd, int in, int out, void (*look)(void *userdata), void *userdata) {
        _cleanup_(raw_end) Raw raw = {};
        int r;

        r = raw_begin(&raw, in);
        if (r < 0)
                return r;

        for (;;) {
                struct pollfd fds[] = {
                        { .fd = in, .events = POLLIN },
                        { .fd = fd, .events = POLLIN },
                        { .fd = interrupt_fd(), .events = POLLIN },
                };

                if (interrupt_signal())
                        return -ECANCELED;
                if (poll(fds, ELEMENTSOF(fds), TICK_MS) < 0 && errno != EINTR)
                        return -errno;
                if (fds[1].revents) {
                        r = show(fd, out);
                        if (r <= 0)
                                return r;
                }
                if (fds[0].revents) {
                        r = take_keys(fd, in);
                        if (r != 0)
                                return r;
                }
                look(userdata);
        }
}
