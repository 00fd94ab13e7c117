/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rendezvous.h"
#include "clock.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#define JOIN_PATIENCE_NSEC (5 * NSEC_PER_SEC) /* for one connection to say who it is */
#define STRANGERS_MAX 64                      /* connections that have not said it yet */
#define FAREWELL_NSEC (2 * NSEC_PER_SEC)
#define ERROR_PAYLOAD_MAX (4 + 48 + MESSAGE_TEXT_MAX)

struct Rendezvous {
        RendezvousConfig config;
        int listener;
        Connection *peers; /* process 0: one a rank, [0] unused; else only [0], to process 0 */
        RendezvousPeer *roster;
        unsigned refused;
};

static bool is_hub(const Rendezvous *r) {
        return r->config.rank == 0;
}

static int n_connections(const Rendezvous *r) {
        return is_hub(r) ? r->config.world : 1;
}

Rendezvous *rendezvous_free(Rendezvous *r) {
        if (!r)
                return NULL;
        if (r->peers)
                for (int i = 0; i < n_connections(r); i++)
                        connection_done(&r->peers[i]);
        safe_close(r->listener);
        free(r->peers);
        free(r->roster);
        free(r);
        return NULL;
}

const RendezvousPeer *rendezvous_peer(const Rendezvous *r, int rank) {
        return &r->roster[rank];
}

/* "rank 3 (node7)" for messages; names are known once all have joined. */
static const char *who(const Rendezvous *r, int rank, char text[96]) {
        if (r->roster && r->roster[rank].name[0])
                snprintf(text, 96, "process %d (%s)", rank, r->roster[rank].name);
        else
                snprintf(text, 96, "process %d", rank);
        return text;
}

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
                failure_set(f, REASON_RENDEZVOUS_REFUSED, "process %u was told of a world of %u, process 0 of %d",
                        join.rank, join.world, r->config.world);
                return -EPROTO;
        }
        if (join.rank == 0 || join.rank >= join.world || r->peers[join.rank].fd >= 0) {
                failure_set(f, REASON_RENDEZVOUS_REFUSED, "two processes say that they are number %u of %u",
                        join.rank, join.world);
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
        int on = 1;
        int fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
                return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        for (int i = 0; i < STRANGERS_MAX; i++) {
                Connection *c = &strangers[i];

                if (c->fd >= 0)
                        continue;
                *c = (Connection) { .fd = fd, .rank = -1, .deadline = now_nsec() + JOIN_PATIENCE_NSEC };
                if (getrandom(c->nonce, sizeof(c->nonce), 0) != sizeof(c->nonce) ||
                                connection_send(c, MESSAGE_HELLO, c->nonce, sizeof(c->nonce), c->deadline) < 0) {
                        connection_done(c);
                        return;
                }
                c->key = r->config.secret;
                c->sent = c->received = 0;
                return;
        }
        close(fd); /* too many at once; who belongs to us tries again */
}

static void missing_ranks(const Rendezvous *r, char *text, size_t size) {
        size_t n = 0;
        int shown = 0, missing = 0;

        text[0] = '\0';
        for (int i = 1; i < r->config.world; i++)
                if (r->peers[i].fd < 0) {
                        missing++;
                        if (shown < 16 && n < size) {
                                n += (size_t) snprintf(text + n, size - n, "%s%d", shown ? ", " : "", i);
                                shown++;
                        }
                }
        if (missing > shown && n < size)
                snprintf(text + n, size - n, " and %d more", missing - shown);
}

static int gather(Rendezvous *r, Connection *strangers, uint64_t deadline, Failure *f) {
        for (int joined = 1; joined < r->config.world;) {
                struct pollfd fds[STRANGERS_MAX + 1] = { { .fd = r->listener, .events = POLLIN } };

                for (int i = 0; i < STRANGERS_MAX; i++)
                        fds[i + 1] = (struct pollfd) { .fd = strangers[i].fd, .events = POLLIN };
                if (poll(fds, ELEMENTSOF(fds), deadline_poll_ms(deadline, 500)) < 0 && errno != EINTR)
                        return failure_set(f, REASON_INTERNAL, "poll: %s", strerror(errno));
                if (now_nsec() >= deadline) {
                        char missing[160];

                        missing_ranks(r, missing, sizeof(missing));
                        return failure_set(f, r->refused ? REASON_RENDEZVOUS_REFUSED : REASON_RENDEZVOUS_TIMEOUT,
                                "%d of %d processes came; missing: %s%s", joined, r->config.world, missing,
                                r->refused ? " (callers with another secret or version were turned away)" : "");
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
        int k;

        for (int i = 0; i < STRANGERS_MAX; i++)
                strangers[i] = (Connection) { .fd = -EBADF };
        r->listener = socket_listen(r->config.host, r->config.port);
        if (r->listener < 0)
                return failure_set(f, REASON_RENDEZVOUS_ERROR, "cannot listen on port %s: %s", r->config.port,
                        strerror(-r->listener));
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
                return failure_set(f, REASON_RENDEZVOUS_REFUSED, "process 0 at %s port %s %s", r->config.host,
                        r->config.port,
                        error == -ENOTCONN ? "turned us away: another secret?" : "does not know the shared secret");
        case -EPROTO:
                return failure_set(f, REASON_RENDEZVOUS_REFUSED, "process 0 at %s port %s is of another version",
                        r->config.host, r->config.port);
        case -ETIMEDOUT:
                return failure_set(f, REASON_RENDEZVOUS_TIMEOUT, "no answer from process 0 at %s port %s",
                        r->config.host, r->config.port);
        default:
                return failure_set(f, REASON_RENDEZVOUS_ERROR, "%s port %s: %s", r->config.host, r->config.port,
                        error == -EBADMSG ? "what listens there is not ncclbench" : strerror(-error));
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
                return failure_set(f, REASON_RENDEZVOUS_ERROR, "cannot find or reach %s port %s", r->config.host,
                        r->config.port);
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
                k = connection_await(c, ERROR_PAYLOAD_MAX, deadline, &m);
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

static int exchange_roster(Rendezvous *r, uint64_t deadline, Failure *f) {
        _cleanup_free_ RendezvousPeer *roster = calloc((size_t) r->config.world, sizeof(*roster));
        RendezvousPeer mine = {};
        int k;

        if (!roster)
                return failure_set(f, REASON_INTERNAL, "out of memory");
        snprintf(mine.name, sizeof(mine.name), "%s", strempty(r->config.name));
        for (int i = 0; i < n_connections(r); i++) {
                bool loopback = true;

                if (r->peers[i].fd >= 0 &&
                                socket_own_address(r->peers[i].fd, mine.address, sizeof(mine.address), &loopback) >= 0 &&
                                !loopback)
                        break;
        }
        k = rendezvous_exchange(r, &mine, sizeof(mine), roster, NULL, deadline, f);
        if (k < 0)
                return k;
        for (int i = 0; i < r->config.world; i++) {
                roster[i].name[sizeof(roster[i].name) - 1] = '\0';
                roster[i].address[sizeof(roster[i].address) - 1] = '\0';
                for (char *p = roster[i].name; *p; p++)
                        if ((unsigned char) *p < 0x20 || *p == 0x7f)
                                *p = '?';
        }
        r->roster = TAKE_PTR(roster);
        return 0;
}

int rendezvous_join(const RendezvousConfig *config, uint64_t deadline, Rendezvous **ret, Failure *f) {
        _cleanup_rendezvous_ Rendezvous *r = calloc(1, sizeof(*r));
        int k;

        if (!r)
                return failure_set(f, REASON_INTERNAL, "out of memory");
        r->config = *config;
        r->listener = -EBADF;
        r->peers = calloc((size_t) n_connections(r), sizeof(*r->peers));
        if (!r->peers)
                return failure_set(f, REASON_INTERNAL, "out of memory");
        for (int i = 0; i < n_connections(r); i++)
                r->peers[i] = (Connection) { .fd = -EBADF, .rank = i };

        k = is_hub(r) ? join_as_hub(r, deadline, f) : join_as_peer(r, deadline, f);
        if (k >= 0)
                k = exchange_roster(r, deadline, f);
        if (k < 0) {
                rendezvous_fail(r, f);
                return k;
        }
        *ret = TAKE_PTR(r);
        return 0;
}

/* Turns what a connection gave instead of the next DATA message into our failure. */
static int peer_failed(Rendezvous *r, Connection *c, int error, const Message *m, Failure *f) {
        char name[96];
        ErrorNote note;

        if (error >= 0 && m->type == MESSAGE_ERROR && error_unpack(m, &note) >= 0) {
                int rank = note.rank < (uint32_t) r->config.world ? (int) note.rank : c->rank;

                return failure_set(f, REASON_PEER_FAILED, "%s: %s: %s", who(r, rank, name), note.code, note.text);
        }
        if (error == -ENOTCONN)
                return failure_set(f, REASON_PEER_FAILED, "%s ended without a word", who(r, c->rank, name));
        if (error == -ETIMEDOUT)
                return failure_set(f, REASON_RENDEZVOUS_TIMEOUT, "no word from %s in time", who(r, c->rank, name));
        return failure_set(f, REASON_RENDEZVOUS_ERROR, "%s: %s", who(r, c->rank, name),
                error < 0 ? strerror(-error) : "an unexpected message");
}

static size_t payload_limit(size_t data) {
        return MAX(data, (size_t) ERROR_PAYLOAD_MAX);
}

/* Waits for one process's piece while listening to all, so that another's failure is not found out only
 * at the deadline. */
static int hub_await(Rendezvous *r, Connection *c, size_t limit, bool tolerant, uint64_t deadline, Message *ret,
        Failure *f) {
        for (;;) {
                int k = connection_await(c, limit, MIN(deadline, now_nsec() + NSEC_PER_SEC / 10), ret);

                if (k != -ETIMEDOUT || now_nsec() >= deadline)
                        return k;
                if (!tolerant && rendezvous_look(r, f) < 0)
                        return -EIO;
        }
}

/* Process 0's half: everybody's piece, then everything to everybody. */
static int exchange_as_hub(Rendezvous *r, size_t size, uint8_t *there, uint8_t *all, bool tolerant, uint64_t deadline,
        Failure *f) {
        int world = r->config.world;
        size_t total = (size_t) world * (1 + size);

        for (int i = 1; i < world; i++) {
                Connection *c = &r->peers[i];
                Message m = {};
                int k;

                if (c->fd < 0)
                        continue;
                k = hub_await(r, c, payload_limit(size), tolerant, deadline, &m, f);
                if (k > 0 && m.type == MESSAGE_DATA && m.size == size) {
                        memcpy(all + (size_t) i * size, m.payload, size);
                        there[i] = 1;
                        connection_drop(c, &m);
                } else if (tolerant)
                        connection_done(c);
                else
                        return peer_failed(r, c, k, &m, f);
        }
        for (int i = 1; i < world; i++) {
                Connection *c = &r->peers[i];
                int k = c->fd < 0 ? 0 : connection_send(c, MESSAGE_DATA, there, (uint32_t) total, deadline);

                if (k < 0 && tolerant)
                        connection_done(c); /* the next exchange finds it absent */
                else if (k < 0)
                        return peer_failed(r, c, k, NULL, f);
        }
        return 0;
}

static int exchange_as_peer(Rendezvous *r, const void *mine, size_t size, uint8_t *there, uint64_t deadline, Failure *f) {
        size_t total = (size_t) r->config.world * (1 + size);
        Connection *c = &r->peers[0];
        Message m = {};
        int k;

        k = connection_send(c, MESSAGE_DATA, mine, (uint32_t) size, deadline);
        if (k < 0 && k != -EPIPE && k != -ECONNRESET) /* then its last words may still be there to read */
                return peer_failed(r, c, k, NULL, f);
        k = connection_await(c, payload_limit(total), deadline, &m);
        if (k <= 0 || m.type != MESSAGE_DATA || m.size != total)
                return peer_failed(r, c, k, &m, f);
        memcpy(there, m.payload, total);
        connection_drop(c, &m);
        return 0;
}

int rendezvous_exchange(Rendezvous *r, const void *mine, size_t size, void *all, bool *present, uint64_t deadline,
        Failure *f) {
        _cleanup_free_ uint8_t *there = NULL; /* one byte a rank, then their pieces: as it travels */
        uint8_t *pieces;
        size_t world;
        int k;

        if (!r) {
                memcpy(all, mine, size);
                if (present)
                        present[0] = true;
                return 0;
        }
        world = (size_t) r->config.world;
        if (size > CONNECTION_DATA_MAX / world - 1)
                return failure_set(f, REASON_INTERNAL, "an exchange of %zu bytes over %zu processes", size, world);
        there = calloc(world, 1 + size);
        if (!there)
                return failure_set(f, REASON_INTERNAL, "out of memory");
        pieces = there + world;
        if (is_hub(r)) {
                there[0] = 1;
                memcpy(pieces, mine, size);
                k = exchange_as_hub(r, size, there, pieces, present != NULL, deadline, f);
        } else
                k = exchange_as_peer(r, mine, size, there, deadline, f);
        if (k < 0)
                return k;
        memcpy(all, pieces, world * size);
        for (size_t i = 0; present && i < world; i++)
                present[i] = there[i] == 1;
        return 0;
}

int rendezvous_look(Rendezvous *r, Failure *f) {
        if (!r)
                return 0;
        for (int i = 0; i < n_connections(r); i++) {
                Connection *c = &r->peers[i];
                Message m = {};

                if (c->fd < 0)
                        continue;
                /* Somebody may be ahead of us: its DATA stays where it is until we exchange too. */
                int k = connection_receive(c, CONNECTION_DATA_MAX, &m);
                if (k < 0 || (k > 0 && m.type == MESSAGE_ERROR))
                        return peer_failed(r, c, k, &m, f);
        }
        return 0;
}

void rendezvous_fail(Rendezvous *r, const Failure *f) {
        _cleanup_free_ uint8_t *payload = NULL;
        uint64_t deadline = now_nsec() + FAREWELL_NSEC;
        ErrorNote note = {};
        uint32_t size;

        if (!r || f->reason == REASON_NONE)
                return;
        /* Process 0 passes on what it heard; its note then names the one that failed first. */
        note.rank = (uint32_t) r->config.rank;
        snprintf(note.code, sizeof(note.code), "%s", reason_table[f->reason].code);
        snprintf(note.text, sizeof(note.text), "%s", strempty(f->text));
        if (error_pack(&note, &payload, &size) < 0)
                return;
        for (int i = 0; i < n_connections(r); i++)
                if (r->peers[i].fd >= 0)
                        (void) connection_send(&r->peers[i], MESSAGE_ERROR, payload, size, deadline);
}
