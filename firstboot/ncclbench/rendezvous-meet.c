/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the processes of a run get together: who may come in, who is told to go away, who is
 * missing. */

#include "ncclbench/clock.h"
#include "ncclbench/rendezvous-internal.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define JOIN_PATIENCE_NSEC (5 * NSEC_PER_SEC) /* for one connection to say who it is */
#define STRANGERS_MAX 64                      /* connections that have not said it yet */

/* Process 0: a stranger said JOIN. Moves the connection to its place; -errno: drop it. */
static int admit(Rendezvous *r, Connection *c, const Message *m, Failure *f) {
        MessageKey session;
        Join join;
        int k;

        if (m->type != MESSAGE_JOIN || join_unpack(m, &join) < 0)
                return -EBADMSG;
        if (memcmp(join.hub_nonce, c->nonce, sizeof(c->nonce)) != 0)
                return -EKEYREJECTED;
        if (join.world != (uint32_t) r->config.world) {
                failure_set(f, REASON_RENDEZVOUS_REFUSED,
                                "process %u was told of a world of %u, process 0 of %d", join.rank,
                                join.world, r->config.world);
                return -EPROTO;
        }
        if (join.rank == 0 || join.rank >= join.world || r->peers[join.rank].fd >= 0) {
                failure_set(f, REASON_RENDEZVOUS_REFUSED,
                                "two processes say that they are number %u of %u", join.rank,
                                join.world);
                return -EPROTO;
        }
        k = message_key_for_session(&r->config.secret, join.hub_nonce, join.peer_nonce, &session);
        if (k < 0)
                return k;
        connection_drop(c, m);
        k = connection_send(c, MESSAGE_WELCOME, join.peer_nonce, MESSAGE_NONCE_SIZE, c->deadline);
        if (k < 0)
                return k;
        c->key = session;
        c->sent = c->received = 0;
        c->rank = (int) join.rank;
        r->peers[join.rank] = *c;
        *c = (Connection) { .fd = -EBADF };
        return 0;
}

static void greet(Rendezvous *r, Connection *strangers) {
        int on = 1, fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
                return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        for (int i = 0; i < STRANGERS_MAX; i++) {
                Connection *c = &strangers[i];

                if (c->fd >= 0)
                        continue;
                *c = (Connection) {
                        .fd = fd, .rank = -1, .deadline = now_nsec() + JOIN_PATIENCE_NSEC
                };
                if (getrandom(c->nonce, sizeof(c->nonce), 0) != sizeof(c->nonce) ||
                                connection_send(c, MESSAGE_HELLO, c->nonce, sizeof(c->nonce),
                                                c->deadline) < 0) {
                        connection_done(c);
                        return;
                }
                c->key = r->config.secret;
                c->sent = c->received = 0;
                return;
        }
        close(fd);
}

/* A place for one more connection; without one, callers wait in the listener's queue. */
static bool has_room(const Connection *strangers) {
        for (int i = 0; i < STRANGERS_MAX; i++)
                if (strangers[i].fd < 0)
                        return true;
        return false;
}

static void missing_ranks(const Rendezvous *r, char *text, size_t size) {
        size_t n = 0;
        int shown = 0, missing = 0;

        text[0] = '\0';
        for (int i = 1; i < r->config.world; i++)
                if (r->peers[i].fd < 0) {
                        missing++;
                        if (shown < 16 && n < size) {
                                n += (size_t) snprintf(
                                                text + n, size - n, "%s%d", shown ? ", " : "", i);
                                shown++;
                        }
                }
        if (missing > shown && n < size)
                snprintf(text + n, size - n, " and %d more", missing - shown);
}

static int gather(Rendezvous *r, Connection *strangers, uint64_t deadline, Failure *f) {
        for (int joined = 1; joined < r->config.world;) {
                struct pollfd fds[STRANGERS_MAX + 1] = {
                        { .fd = has_room(strangers) ? r->listener : -1, .events = POLLIN }
                };

                for (int i = 0; i < STRANGERS_MAX; i++)
                        fds[i + 1] = (struct pollfd) { .fd = strangers[i].fd, .events = POLLIN };
                if (poll(fds, ELEMENTSOF(fds), deadline_poll_ms(deadline, 500)) < 0 &&
                                errno != EINTR)
                        return failure_set(f, REASON_INTERNAL, "poll: %s", strerror(errno));
                if (now_nsec() >= deadline) {
                        char missing[160];

                        missing_ranks(r, missing, sizeof(missing));
                        return failure_set(f,
                                        r->refused ? REASON_RENDEZVOUS_REFUSED
                                                   : REASON_RENDEZVOUS_TIMEOUT,
                                        "%d of %d processes came; missing: %s%s", joined,
                                        r->config.world, missing,
                                        r->refused ? " (callers with another secret or version were turned away)"
                                                   : "");
                }
                if (fds[0].revents)
                        greet(r, strangers);
                for (int i = 0; i < STRANGERS_MAX; i++) {
                        Message m;
                        int k;

                        if (strangers[i].fd < 0)
                                continue;
                        k = connection_receive(&strangers[i], JOIN_SIZE, &m);
                        if (k > 0) {
                                k = admit(r, &strangers[i], &m, f);
                                joined += k >= 0;
                        } else if (k == 0 && now_nsec() >= strangers[i].deadline)
                                k = -ETIMEDOUT;
                        if (k < 0) {
                                r->refused += k == -EKEYREJECTED || k == -EPROTO;
                                connection_done(&strangers[i]);
                                if (f->reason != REASON_NONE)
                                        return -EIO;
                        }
                }
        }
        return 0;
}

static int join_as_hub(Rendezvous *r, uint64_t deadline, Failure *f) {
        Connection strangers[STRANGERS_MAX];
        struct rlimit files;
        int k;

        /* One connection a process, and the usual soft limit is 1024. */
        if (getrlimit(RLIMIT_NOFILE, &files) >= 0 && files.rlim_cur < files.rlim_max) {
                files.rlim_cur = files.rlim_max;
                (void) setrlimit(RLIMIT_NOFILE, &files);
        }

        for (int i = 0; i < STRANGERS_MAX; i++)
                strangers[i] = (Connection) { .fd = -EBADF };
        r->listener = socket_listen(r->config.host, r->config.port);
        if (r->listener < 0)
                return failure_set(f, REASON_RENDEZVOUS_ERROR, "cannot listen on port %s: %s",
                                r->config.port, strerror(-r->listener));
        k = gather(r, strangers, deadline, f);
        for (int i = 0; i < STRANGERS_MAX; i++)
                connection_done(&strangers[i]);
        r->listener = safe_close(r->listener);
        return k;
}

/* What process 0's silence or nonsense during the handshake means. */
static int handshake_failed(const Rendezvous *r, int error, Failure *f) {
        switch (error) {
        case -ENOTCONN:
        case -EKEYREJECTED:
                return failure_set(f, REASON_RENDEZVOUS_REFUSED, "process 0 at %s port %s %s",
                                r->config.host, r->config.port,
                                error == -ENOTCONN ? "turned us away: another secret?"
                                                   : "does not know the shared secret");
        case -EPROTO:
                return failure_set(f, REASON_RENDEZVOUS_REFUSED,
                                "process 0 at %s port %s is of another version", r->config.host,
                                r->config.port);
        case -ETIMEDOUT:
                return failure_set(f, REASON_RENDEZVOUS_TIMEOUT,
                                "no answer from process 0 at %s port %s", r->config.host,
                                r->config.port);
        default:
                return failure_set(f, REASON_RENDEZVOUS_ERROR, "%s port %s: %s", r->config.host,
                                r->config.port,
                                error == -EBADMSG ? "what listens there is not ncclbench"
                                                  : strerror(-error));
        }
}

static int join_as_peer(Rendezvous *r, uint64_t deadline, Failure *f) {
        Connection *c = &r->peers[0];
        uint8_t payload[JOIN_SIZE];
        Join join = { .rank = (uint32_t) r->config.rank, .world = (uint32_t) r->config.world };
        Message m;
        int k;

        k = socket_connect(r->config.host, r->config.port, deadline);
        if (k == -EHOSTUNREACH)
                return failure_set(f, REASON_RENDEZVOUS_ERROR, "cannot find or reach %s port %s",
                                r->config.host, r->config.port);
        if (k < 0)
                return handshake_failed(r, k, f);
        *c = (Connection) { .fd = k, .rank = 0, .from_hub = true };

        k = connection_await(c, MESSAGE_NONCE_SIZE, deadline, &m);
        if (k < 0)
                return handshake_failed(r, k, f);
        if (m.type != MESSAGE_HELLO || m.size != MESSAGE_NONCE_SIZE)
                return handshake_failed(r, -EBADMSG, f);
        memcpy(join.hub_nonce, m.payload, MESSAGE_NONCE_SIZE);
        connection_drop(c, &m);
        if (getrandom(join.peer_nonce, MESSAGE_NONCE_SIZE, 0) != MESSAGE_NONCE_SIZE)
                return failure_set(f, REASON_INTERNAL, "getrandom: %s", strerror(errno));

        c->key = r->config.secret;
        c->sent = c->received = 0;
        join_pack(&join, payload);
        k = connection_send(c, MESSAGE_JOIN, payload, sizeof(payload), deadline);
        if (k >= 0)
                k = connection_await(c, RENDEZVOUS_ERROR_MAX, deadline, &m);
        if (k < 0)
                return handshake_failed(r, k, f);
        if (m.type != MESSAGE_WELCOME || m.size != MESSAGE_NONCE_SIZE ||
                        memcmp(m.payload, join.peer_nonce, MESSAGE_NONCE_SIZE) != 0)
                return handshake_failed(r, -EKEYREJECTED, f);
        connection_drop(c, &m);
        k = message_key_for_session(&r->config.secret, join.hub_nonce, join.peer_nonce, &c->key);
        if (k < 0)
                return failure_set(f, REASON_INTERNAL, "HMAC: %s", strerror(-k));
        c->sent = c->received = 0;
        return 0;
}

int rendezvous_meet(Rendezvous *r, uint64_t deadline, Failure *f) {
        return is_hub(r) ? join_as_hub(r, deadline, f) : join_as_peer(r, deadline, f);
}
