/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the processes of a run get together: who may come in, who is turned away, who is missing. */

#include "ncclbench/deadline.h"
#include "ncclbench/rendezvous-internal.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define JOIN_PATIENCE_USEC (5 * USEC_PER_SEC) /* for one connection to say who it is */
#define STRANGERS_MAX 1024                    /* connections that have not said it yet */
#define SILENCE_USEC (200 * USEC_PER_MSEC)    /* who knows what this is answers sooner */

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

/* A place for the next caller. Where all are taken, whoever has been silent the longest goes: many
 * who connect and say nothing must not keep out those who know what to say. */
static Connection *free_place(Connection *strangers) {
        uint64_t oldest = now_usec() + JOIN_PATIENCE_USEC - SILENCE_USEC;
        Connection *silent = NULL;

        for (int i = 0; i < STRANGERS_MAX; i++) {
                Connection *c = &strangers[i];

                if (c->fd < 0)
                        return c;
                if (c->used == 0 && c->deadline < oldest) {
                        oldest = c->deadline;
                        silent = c;
                }
        }
        if (silent)
                connection_done(silent);
        return silent;
}

/* Takes one caller from the listener's queue and says HELLO. Returns whether there may be more. */
static bool greet(Rendezvous *r, Connection *strangers) {
        Connection *c = free_place(strangers);
        int on = 1, fd, k;

        if (!c)
                return false;
        fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
                return false;

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        *c = (Connection) { .fd = fd, .rank = -1, .deadline = now_usec() + JOIN_PATIENCE_USEC };
        if (getrandom(c->nonce, sizeof(c->nonce), 0) != sizeof(c->nonce)) {
                connection_done(c);
                return true;
        }
        k = connection_send(c, MESSAGE_HELLO, c->nonce, sizeof(c->nonce), c->deadline);
        if (k < 0) {
                connection_done(c);
                return true;
        }
        c->key = r->config.secret;
        c->sent = c->received = 0;
        return true;
}

/* "1, 2, 5 and 30 more". */
static void missing_ranks(const Rendezvous *r, char *text, size_t size) {
        int shown = 0, missing = 0;
        size_t n = 0;

        text[0] = '\0';
        for (int i = 1; i < r->config.world; i++) {
                if (r->peers[i].fd >= 0)
                        continue;
                missing++;
                if (shown == 16 || n >= size)
                        continue;
                n += (size_t) snprintf(text + n, size - n, "%s%d", shown ? ", " : "", i);
                shown++;
        }
        if (missing > shown && n < size)
                snprintf(text + n, size - n, " and %d more", missing - shown);
}

static int not_all_came(const Rendezvous *r, int joined, Failure *f) {
        Reason reason = r->refused ? REASON_RENDEZVOUS_REFUSED : REASON_RENDEZVOUS_TIMEOUT;
        char missing[160];

        missing_ranks(r, missing, sizeof(missing));
        return failure_set(f, reason, "%d of %d processes came; missing: %s%s", joined,
                        r->config.world, missing,
                        r->refused ? " (callers with another secret or version were turned away)"
                                   : "");
}

/* Sleeps until somebody calls or speaks. While all places are taken by callers who have only just
 * come, others wait in the listener's queue. Returns whether somebody calls. */
static int await_strangers(
                const Rendezvous *r, Connection *strangers, uint64_t deadline, Failure *f) {
        struct pollfd fds[STRANGERS_MAX + 1] = { { .fd = r->listener, .events = POLLIN } };
        bool full = !free_place(strangers);
        int wait = full ? 20 : 500;

        for (int i = 0; i < STRANGERS_MAX; i++)
                fds[i + 1] = (struct pollfd) { .fd = strangers[i].fd, .events = POLLIN };
        if (full)
                fds[0].fd = -1;
        if (poll(fds, ELEMENTSOF(fds), deadline_poll_ms(deadline, wait)) < 0 && errno != EINTR)
                return failure_set(f, REASON_INTERNAL, "poll: %s", strerror(errno));
        return fds[0].revents != 0;
}

/* Hears what one stranger says so far: 1 where it has joined, 0 where it goes on or was dropped. */
static int hear(Rendezvous *r, Connection *stranger, Failure *f) {
        Message m;
        int k;

        k = connection_receive(stranger, JOIN_SIZE, &m);
        if (k > 0) {
                k = admit(r, stranger, &m, f);
                if (k >= 0)
                        return 1;
        } else if (k == 0 && now_usec() >= stranger->deadline)
                k = -ETIMEDOUT;
        if (k == 0)
                return 0;

        r->refused += k == -EKEYREJECTED || k == -EPROTO;
        connection_done(stranger);
        return f->reason != REASON_NONE ? -EIO : 0;
}

static int gather(Rendezvous *r, Connection *strangers, uint64_t deadline, Failure *f) {
        for (int joined = 1; joined < r->config.world;) {
                int k = await_strangers(r, strangers, deadline, f);

                if (k < 0)
                        return k;
                if (now_usec() >= deadline)
                        return not_all_came(r, joined, f);
                for (int i = 0; k > 0 && i < STRANGERS_MAX && greet(r, strangers); i++)
                        ;

                for (int i = 0; i < STRANGERS_MAX; i++) {
                        k = strangers[i].fd < 0 ? 0 : hear(r, &strangers[i], f);
                        if (k < 0)
                                return k;
                        joined += k;
                }
        }
        return 0;
}

/* One connection a process, and the usual soft limit is 1024. */
static void raise_file_limit(void) {
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= files.rlim_max)
                return;
        files.rlim_cur = files.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &files);
}

static int join_as_hub(Rendezvous *r, uint64_t deadline, Failure *f) {
        Connection strangers[STRANGERS_MAX];
        int k;

        raise_file_limit();
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

/* Process 0 greets first, with its nonce. */
static int hear_hello(
                const Rendezvous *r, Connection *c, Join *join, uint64_t deadline, Failure *f) {
        Message m;
        int k;

        k = connection_await(c, MESSAGE_NONCE_SIZE, deadline, &m);
        if (k < 0)
                return handshake_failed(r, k, f);
        if (m.type != MESSAGE_HELLO || m.size != MESSAGE_NONCE_SIZE)
                return handshake_failed(r, -EBADMSG, f);
        memcpy(join->hub_nonce, m.payload, MESSAGE_NONCE_SIZE);
        connection_drop(c, &m);
        return 0;
}

/* We say who we are, under the shared secret; its answer shows that it knows the secret too. */
static int say_join(const Rendezvous *r, Connection *c, const Join *join, uint64_t deadline,
                Failure *f) {
        uint8_t payload[JOIN_SIZE];
        Message m;
        int k;

        c->key = r->config.secret;
        c->sent = c->received = 0;
        join_pack(join, payload);
        k = connection_send(c, MESSAGE_JOIN, payload, sizeof(payload), deadline);
        if (k < 0)
                return handshake_failed(r, k, f);

        k = connection_await(c, RENDEZVOUS_ERROR_MAX, deadline, &m);
        if (k < 0)
                return handshake_failed(r, k, f);
        if (m.type != MESSAGE_WELCOME || m.size != MESSAGE_NONCE_SIZE ||
                        memcmp(m.payload, join->peer_nonce, MESSAGE_NONCE_SIZE) != 0)
                return handshake_failed(r, -EKEYREJECTED, f);
        connection_drop(c, &m);
        return 0;
}

static int join_as_peer(Rendezvous *r, uint64_t deadline, Failure *f) {
        Connection *c = &r->peers[0];
        Join join = { .rank = (uint32_t) r->config.rank, .world = (uint32_t) r->config.world };
        int k;

        k = socket_connect(r->config.host, r->config.port, deadline);
        if (k == -EHOSTUNREACH)
                return failure_set(f, REASON_RENDEZVOUS_ERROR, "cannot find or reach %s port %s",
                                r->config.host, r->config.port);
        if (k < 0)
                return handshake_failed(r, k, f);
        *c = (Connection) { .fd = k, .rank = 0, .from_hub = true };

        k = hear_hello(r, c, &join, deadline, f);
        if (k < 0)
                return k;
        if (getrandom(join.peer_nonce, MESSAGE_NONCE_SIZE, 0) != MESSAGE_NONCE_SIZE)
                return failure_set(f, REASON_INTERNAL, "getrandom: %s", strerror(errno));
        k = say_join(r, c, &join, deadline, f);
        if (k < 0)
                return k;

        k = message_key_for_session(&r->config.secret, join.hub_nonce, join.peer_nonce, &c->key);
        if (k < 0)
                return failure_set(f, REASON_INTERNAL, "HMAC: %s", strerror(-k));
        c->sent = c->received = 0;
        return 0;
}

int rendezvous_meet(Rendezvous *r, uint64_t deadline, Failure *f) {
        return is_hub(r) ? join_as_hub(r, deadline, f) : join_as_peer(r, deadline, f);
}
