/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sockets and the messages on them; nothing here waits beyond a deadline. */

#include "ncclbench/connection.h"
#include "ncclbench/deadline.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

void connection_done(Connection *c) {
        c->fd = safe_close(c->fd);
        free(c->input);
        c->input = NULL;
        c->used = c->size = 0;
}

static int wait_for(int fd, short events, uint64_t deadline) {
        for (;;) {
                struct pollfd p = { .fd = fd, .events = events };
                int r = poll(&p, 1, deadline_poll_ms(deadline, 1000));

                if (r > 0)
                        return 0;
                if (r < 0 && errno != EINTR)
                        return -errno;
                if (now_usec() >= deadline)
                        return -ETIMEDOUT;
        }
}

int connection_send(Connection *c, MessageType type, const void *payload, uint32_t size,
                uint64_t deadline) {
        _cleanup_free_ uint8_t *data = NULL;
        size_t total, done = 0;
        int r;

        r = message_compose(&c->key, !c->from_hub, c->sent, type, payload, size, &data, &total);
        if (r < 0)
                return r;

        while (done < total) {
                ssize_t n = send(c->fd, data + done, total - done, MSG_NOSIGNAL | MSG_DONTWAIT);

                if (n > 0) {
                        done += (size_t) n;
                        continue;
                }
                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return -errno;
                r = wait_for(c->fd, POLLOUT, deadline);
                if (r < 0)
                        return r;
        }
        c->sent++;
        return 0;
}

static int make_room(Connection *c) {
        size_t size = c->size > 0 ? 2 * c->size : 16384;
        uint8_t *input;

        if (c->size - c->used >= 4096)
                return 0;
        input = realloc(c->input, size);
        if (!input)
                return -ENOMEM;
        c->input = input;
        c->size = size;
        return 0;
}

/* Reads what is there: 1 where something came, also the end of the stream, 0 where nothing did. */
static int read_more(Connection *c) {
        ssize_t n;
        int r;

        r = make_room(c);
        if (r < 0)
                return r;

        n = recv(c->fd, c->input + c->used, c->size - c->used, MSG_DONTWAIT);
        if (n > 0) {
                c->used += (size_t) n;
                return 1;
        }
        if (n == 0 || errno == ECONNRESET) {
                c->eof = true;
                return 1;
        }
        if (errno == EINTR)
                return 1;
        return errno == EAGAIN ? 0 : -errno;
}

int connection_receive(Connection *c, size_t payload_max, Message *ret) {
        for (;;) {
                Message m;
                int r = message_parse(c->input, c->used, payload_max, &m);

                if (r < 0)
                        return r;
                if (r > 0) {
                        if (!message_authentic(&m, &c->key, c->from_hub, c->received))
                                return -EKEYREJECTED;
                        *ret = m;
                        return 1;
                }
                if (c->eof)
                        return -ENOTCONN;

                r = read_more(c);
                if (r <= 0)
                        return r;
        }
}

void connection_drop(Connection *c, const Message *m) {
        c->used -= m->total;
        memmove(c->input, c->input + m->total, c->used);
        c->received++;
}

int connection_await(Connection *c, size_t payload_max, uint64_t deadline, Message *ret) {
        for (;;) {
                int r = connection_receive(c, payload_max, ret);

                if (r != 0)
                        return r;
                r = wait_for(c->fd, POLLIN, deadline);
                if (r < 0)
                        return r;
        }
}

static bool is_loopback_name(const char *host) {
        return streq(host, "localhost") || startswith(host, "127.") || streq(host, "::1");
}

static void freeaddrinfop(struct addrinfo **list) {
        if (*list)
                freeaddrinfo(*list);
}

static int socket_for(const struct addrinfo *a) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                        a->ai_protocol);

        return fd >= 0 ? fd : -errno;
}

static int listen_at(const struct addrinfo *a) {
        _cleanup_close_ int fd = socket_for(a);
        int on = 1, off = 0;

        if (fd < 0)
                return fd;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (a->ai_family == AF_INET6)
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));

        if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* The first address of the list that can be listened at; those of IPv6, or all others. */
static int listen_at_any(const struct addrinfo *list, bool ipv6, int fallback) {
        for (const struct addrinfo *a = list; a; a = a->ai_next) {
                int fd;

                if ((a->ai_family == AF_INET6) != ipv6)
                        continue;
                fd = listen_at(a);
                if (fd >= 0)
                        return fd;
                fallback = fd;
        }
        return fallback;
}

int socket_listen(const char *host, const char *port) {
        /* Not what `host` resolves to: many hosts resolve their own name to 127.0.1.1. */
        const char *node = is_loopback_name(host) ? host : NULL;
        const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
        _cleanup_(freeaddrinfop) struct addrinfo *list = NULL;
        int fd;

        if (getaddrinfo(node, port, &hints, &list) != 0)
                return -EADDRNOTAVAIL;

        /* First the sockets that take both families. */
        fd = listen_at_any(list, true, -EADDRNOTAVAIL);
        return fd >= 0 ? fd : listen_at_any(list, false, fd);
}

static int connect_once(const struct addrinfo *a, uint64_t deadline) {
        _cleanup_close_ int fd = socket_for(a);
        socklen_t length = sizeof(int);
        int on = 1, error = 0, r;

        if (fd < 0)
                return fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (connect(fd, a->ai_addr, a->ai_addrlen) >= 0)
                return TAKE_FD(fd);
        if (errno != EINPROGRESS)
                return -errno;

        r = wait_for(fd, POLLOUT, deadline);
        if (r < 0)
                return r;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
                return -errno;
        return error == 0 ? TAKE_FD(fd) : -error;
}

/* One attempt at each address that the name has now. `last` is what the attempt before gave: it
 * stays where the name does not resolve. */
static int connect_to_any(const char *host, const char *port, uint64_t deadline, int last) {
        const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
        _cleanup_(freeaddrinfop) struct addrinfo *list = NULL;

        if (getaddrinfo(host, port, &hints, &list) != 0)
                return last;
        for (const struct addrinfo *a = list; a; a = a->ai_next) {
                /* One address that swallows packets must not use up the others' time. */
                last = connect_once(a, MIN(deadline, now_usec() + 5 * USEC_PER_SEC));
                if (last >= 0)
                        return last;
        }
        return last;
}

int socket_connect(const char *host, const char *port, uint64_t deadline) {
        for (int r = -EHOSTUNREACH;;) {
                /* A name may not resolve yet while a cluster boots: that too is tried again. */
                r = connect_to_any(host, port, deadline, r);
                if (r >= 0)
                        return r;
                if (now_usec() + 100 * USEC_PER_MSEC >= deadline)
                        return r == -EHOSTUNREACH ? r : -ETIMEDOUT;
                usleep(100000);
        }
}

static int ipv4_address(const void *bytes, char *ret, size_t size, bool *ret_loopback) {
        *ret_loopback = *(const uint8_t *) bytes == 127;
        return inet_ntop(AF_INET, bytes, ret, (socklen_t) size) ? 0 : -errno;
}

int socket_own_address(int fd, char *ret, size_t size, bool *ret_loopback) {
        struct sockaddr_storage ss = {};
        socklen_t length = sizeof(ss);

        if (getsockname(fd, (struct sockaddr *) &ss, &length) < 0)
                return -errno;

        if (ss.ss_family == AF_INET)
                return ipv4_address(&((const struct sockaddr_in *) &ss)->sin_addr, ret, size,
                                ret_loopback);
        if (ss.ss_family != AF_INET6)
                return -EAFNOSUPPORT;

        const struct in6_addr *a = &((const struct sockaddr_in6 *) &ss)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(a))
                return ipv4_address(a->s6_addr + 12, ret, size, ret_loopback);
        *ret_loopback = IN6_IS_ADDR_LOOPBACK(a);
        return inet_ntop(AF_INET6, a, ret, (socklen_t) size) ? 0 : -errno;
}
