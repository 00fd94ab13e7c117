/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/connection.h"
#include "ncclbench/clock.h"

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
                if (now_nsec() >= deadline)
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

                if (n > 0)
                        done += (size_t) n;
                else if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return -errno;
                else if ((r = wait_for(c->fd, POLLOUT, deadline)) < 0)
                        return r;
        }
        c->sent++;
        return 0;
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
                if (c->size - c->used < 4096) {
                        uint8_t *input = realloc(c->input, c->size ? 2 * c->size : 16384);

                        if (!input)
                                return -ENOMEM;
                        c->input = input;
                        c->size = c->size ? 2 * c->size : 16384;
                }
                ssize_t n = recv(c->fd, c->input + c->used, c->size - c->used, MSG_DONTWAIT);
                if (n == 0)
                        c->eof = true;
                else if (n > 0)
                        c->used += (size_t) n;
                else if (errno == EAGAIN)
                        return 0;
                else if (errno == ECONNRESET)
                        c->eof = true;
                else if (errno != EINTR)
                        return -errno;
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

int socket_listen(const char *host, const char *port) {
        /* Not the address that `host` resolves to: many hosts resolve their own name to
         * 127.0.1.1. */
        const char *node = is_loopback_name(host) ? host : NULL;
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE },
                        *list = NULL;
        int last = -EADDRNOTAVAIL;

        if (getaddrinfo(node, port, &hints, &list) != 0)
                return -EADDRNOTAVAIL;
        for (int pass = 0; pass < 2; pass++)
                for (struct addrinfo *a = list; a; a = a->ai_next) {
                        int on = 1, off = 0;

                        /* First the sockets that take both families. */
                        if ((a->ai_family == AF_INET6) != (pass == 0))
                                continue;
                        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                        a->ai_protocol);
                        if (fd < 0) {
                                last = -errno;
                                continue;
                        }
                        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
                        if (a->ai_family == AF_INET6)
                                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
                        if (bind(fd, a->ai_addr, a->ai_addrlen) >= 0 && listen(fd, 512) >= 0) {
                                freeaddrinfo(list);
                                return fd;
                        }
                        last = -errno;
                        close(fd);
                }
        freeaddrinfo(list);
        return last;
}

static int connect_once(const struct addrinfo *a, uint64_t deadline) {
        int on = 1, error = 0, fd, r;
        socklen_t length = sizeof(error);

        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
        if (fd < 0)
                return -errno;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (connect(fd, a->ai_addr, a->ai_addrlen) >= 0)
                return fd;
        if (errno == EINPROGRESS) {
                r = wait_for(fd, POLLOUT, deadline);
                if (r >= 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) >= 0 &&
                                error == 0)
                        return fd;
                r = r < 0 ? r : -error;
        } else
                r = -errno;
        close(fd);
        return r;
}

int socket_connect(const char *host, const char *port, uint64_t deadline) {
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

        for (int last = -EHOSTUNREACH;;) {
                struct addrinfo *list = NULL;

                /* A name may not resolve yet while a cluster boots: that too is tried again. */
                if (getaddrinfo(host, port, &hints, &list) == 0) {
                        for (struct addrinfo *a = list; a; a = a->ai_next) {
                                /* One address that swallows packets must not use up the others'
                                 * time. */
                                uint64_t until = MIN(deadline, now_nsec() + 5 * NSEC_PER_SEC);
                                int fd = connect_once(a, until);

                                if (fd >= 0) {
                                        freeaddrinfo(list);
                                        return fd;
                                }
                                last = fd;
                        }
                        freeaddrinfo(list);
                }
                if (now_nsec() + 100 * NSEC_PER_SEC / 1000 >= deadline)
                        return last == -EHOSTUNREACH ? last : -ETIMEDOUT;
                usleep(100000);
        }
}

int socket_own_address(int fd, char *ret, size_t size, bool *ret_loopback) {
        struct sockaddr_storage ss = {};
        socklen_t length = sizeof(ss);

        if (getsockname(fd, (struct sockaddr *) &ss, &length) < 0)
                return -errno;
        if (ss.ss_family == AF_INET) {
                const struct sockaddr_in *a = (const struct sockaddr_in *) &ss;

                *ret_loopback = ntohl(a->sin_addr.s_addr) >> 24 == 127;
                return inet_ntop(AF_INET, &a->sin_addr, ret, (socklen_t) size) ? 0 : -errno;
        }
        if (ss.ss_family == AF_INET6) {
                const struct sockaddr_in6 *a = (const struct sockaddr_in6 *) &ss;

                if (IN6_IS_ADDR_V4MAPPED(&a->sin6_addr)) {
                        *ret_loopback = a->sin6_addr.s6_addr[12] == 127;
                        return inet_ntop(AF_INET, a->sin6_addr.s6_addr + 12, ret, (socklen_t) size)
                                               ? 0
                                               : -errno;
                }
                *ret_loopback = IN6_IS_ADDR_LOOPBACK(&a->sin6_addr);
                return inet_ntop(AF_INET6, &a->sin6_addr, ret, (socklen_t) size) ? 0 : -errno;
        }
        return -EAFNOSUPPORT;
}
