/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The exchanges between processes that have met: everybody gives process 0 a piece and gets its
 * answer, and who fails tells the others. */

#include "ncclbench/deadline.h"
#include "ncclbench/rendezvous-internal.h"

#define FAREWELL_USEC (2 * USEC_PER_SEC)

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

/* Another machine's words end on our terminal and in our journal. */
static void make_printable(char *text, size_t size) {
        text[size - 1] = '\0';
        for (char *p = text; *p; p++)
                if ((unsigned char) *p < 0x20 || *p == 0x7f)
                        *p = '?';
}

/* The address at which the others reach us; the loopback's only where there is no other. */
static void find_own_address(const Rendezvous *r, char *ret, size_t size) {
        for (int i = 0; i < n_connections(r); i++) {
                bool loopback = true;

                if (r->peers[i].fd < 0 ||
                                socket_own_address(r->peers[i].fd, ret, size, &loopback) < 0)
                        continue;
                if (!loopback)
                        return;
        }
}

static int exchange_roster(Rendezvous *r, uint64_t deadline, Failure *f) {
        _cleanup_free_ RendezvousPeer *roster = calloc((size_t) r->config.world, sizeof(*roster));
        RendezvousPeer mine = {};
        int k;

        if (!roster)
                return failure_set(f, REASON_INTERNAL, "out of memory");
        snprintf(mine.name, sizeof(mine.name), "%s", strempty(r->config.name));
        find_own_address(r, mine.address, sizeof(mine.address));

        k = rendezvous_exchange(r, &mine, sizeof(mine), roster, NULL, deadline, f);
        if (k < 0)
                return k;
        for (int i = 0; i < r->config.world; i++) {
                make_printable(roster[i].name, sizeof(roster[i].name));
                roster[i].address[sizeof(roster[i].address) - 1] = '\0';
        }
        r->roster = TAKE_PTR(roster);
        return 0;
}

/* Gets together and makes known to each other. */
static int meet(Rendezvous *r, uint64_t deadline, Failure *f) {
        int k;

        k = rendezvous_meet(r, deadline, f);
        if (k < 0)
                return k;
        return exchange_roster(r, deadline, f);
}

int rendezvous_join(
                const RendezvousConfig *config, uint64_t deadline, Rendezvous **ret, Failure *f) {
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

        k = meet(r, deadline, f);
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

                return failure_set(f, REASON_PEER_FAILED, "%s: %s: %s", who(r, rank, name),
                                note.code, note.text);
        }
        if (error == -ENOTCONN)
                return failure_set(f, REASON_PEER_FAILED, "%s ended without a word",
                                who(r, c->rank, name));
        if (error == -ETIMEDOUT)
                return failure_set(f, REASON_RENDEZVOUS_TIMEOUT, "no word from %s in time",
                                who(r, c->rank, name));
        return failure_set(f, REASON_RENDEZVOUS_ERROR, "%s: %s", who(r, c->rank, name),
                        error < 0 ? strerror(-error) : "an unexpected message");
}

static size_t payload_limit(size_t data) {
        return MAX(data, (size_t) RENDEZVOUS_ERROR_MAX);
}

/* Waits for one process's piece while listening to all, so that another's failure is not found out
 * only at the deadline. */
static int hub_await(Rendezvous *r, Connection *c, size_t limit, bool tolerant, uint64_t deadline,
                Message *ret, Failure *f) {
        for (;;) {
                int k = connection_await(
                                c, limit, MIN(deadline, now_usec() + USEC_PER_SEC / 10), ret);

                if (k != -ETIMEDOUT || now_usec() >= deadline)
                        return k;
                if (!tolerant && rendezvous_look(r, f) < 0)
                        return -EIO;
        }
}

/* One process's piece of `size` bytes into `piece`: 1, or 0 where `tolerant` and it gave none. */
static int collect_from(Rendezvous *r, Connection *c, size_t size, uint8_t *piece, bool tolerant,
                uint64_t deadline, Failure *f) {
        Message m = {};
        int k;

        if (c->fd < 0)
                return 0;
        k = hub_await(r, c, payload_limit(size), tolerant, deadline, &m, f);
        if (k > 0 && m.type == MESSAGE_DATA && m.size == size) {
                if (size > 0)
                        memcpy(piece, m.payload, size);
                connection_drop(c, &m);
                return 1;
        }
        if (!tolerant)
                return peer_failed(r, c, k, &m, f);
        connection_done(c);
        return 0;
}

/* Process 0's half, first part: everybody's piece of `size` bytes into `pieces`, a 1 into there[]
 * of who gave one. */
static int collect(Rendezvous *r, size_t size, uint8_t *there, uint8_t *pieces, bool tolerant,
                uint64_t deadline, Failure *f) {
        for (int i = 1; i < r->config.world; i++) {
                uint8_t *piece = size > 0 ? pieces + (size_t) i * size : NULL;
                int k = collect_from(r, &r->peers[i], size, piece, tolerant, deadline, f);

                if (k < 0)
                        return k;
                there[i] = k > 0;
        }
        return 0;
}

/* … second part: the same answer to everybody. */
static int answer(Rendezvous *r, const void *data, size_t size, bool tolerant, uint64_t deadline,
                Failure *f) {
        for (int i = 1; i < r->config.world; i++) {
                Connection *c = &r->peers[i];
                int k;

                if (c->fd < 0)
                        continue;
                k = connection_send(c, MESSAGE_DATA, data, (uint32_t) size, deadline);
                if (k >= 0)
                        continue;
                if (!tolerant)
                        return peer_failed(r, c, k, NULL, f);
                connection_done(c); /* the next exchange finds it absent */
        }
        return 0;
}

/* The others' half: gives a piece, gets an answer. */
static int ask(Rendezvous *r, const void *mine, size_t size, void *ret_answer, size_t answer_size,
                uint64_t deadline, Failure *f) {
        Connection *c = &r->peers[0];
        Message m = {};
        int k;

        k = connection_send(c, MESSAGE_DATA, mine, (uint32_t) size, deadline);
        /* The last words of who closed the connection may still be there to read. */
        if (k < 0 && k != -EPIPE && k != -ECONNRESET)
                return peer_failed(r, c, k, NULL, f);

        k = connection_await(c, payload_limit(answer_size), deadline, &m);
        if (k <= 0 || m.type != MESSAGE_DATA || m.size != answer_size)
                return peer_failed(r, c, k, &m, f);
        if (answer_size > 0)
                memcpy(ret_answer, m.payload, answer_size);
        connection_drop(c, &m);
        return 0;
}

/* One byte a process, whether it is there, then their pieces: as an exchange's answer travels. */
static int allocate_pieces(const Rendezvous *r, size_t size, uint8_t **ret, Failure *f) {
        size_t world = (size_t) r->config.world;

        if (size > CONNECTION_DATA_MAX / world - 1)
                return failure_set(f, REASON_INTERNAL,
                                "an exchange of %zu bytes over %zu processes", size, world);
        *ret = calloc(world, 1 + size);
        return *ret ? 0 : failure_set(f, REASON_INTERNAL, "out of memory");
}

/* Process 0's half of an exchange; `there` is as allocate_pieces() makes it. */
static int exchange_as_hub(Rendezvous *r, const void *mine, size_t size, uint8_t *there,
                bool tolerant, uint64_t deadline, Failure *f) {
        size_t world = (size_t) r->config.world;
        int k;

        there[0] = 1;
        memcpy(there + world, mine, size);
        k = collect(r, size, there, there + world, tolerant, deadline, f);
        if (k < 0)
                return k;
        return answer(r, there, world * (1 + size), tolerant, deadline, f);
}

int rendezvous_exchange(Rendezvous *r, const void *mine, size_t size, void *all, bool *present,
                uint64_t deadline, Failure *f) {
        _cleanup_free_ uint8_t *there = NULL;
        size_t world;
        int k;

        if (!r) {
                memcpy(all, mine, size);
                if (present)
                        present[0] = true;
                return 0;
        }

        world = (size_t) r->config.world;
        k = allocate_pieces(r, size, &there, f);
        if (k < 0)
                return k;
        k = is_hub(r) ? exchange_as_hub(r, mine, size, there, present != NULL, deadline, f)
                      : ask(r, mine, size, there, world * (1 + size), deadline, f);
        if (k < 0)
                return k;

        memcpy(all, there + world, world * size);
        for (size_t i = 0; present && i < world; i++)
                present[i] = there[i] == 1;
        return 0;
}

int rendezvous_gather(Rendezvous *r, const void *mine, size_t size, void *all, uint64_t deadline,
                Failure *f) {
        _cleanup_free_ uint8_t *there = NULL;
        size_t world;
        int k;

        if (!r) {
                memcpy(all, mine, size);
                return 0;
        }
        if (!is_hub(r))
                return ask(r, mine, size, NULL, 0, deadline, f);

        world = (size_t) r->config.world;
        k = allocate_pieces(r, size, &there, f);
        if (k < 0)
                return k;
        memcpy(there + world, mine, size);
        k = collect(r, size, there, there + world, false, deadline, f);
        if (k < 0)
                return k;
        k = answer(r, NULL, 0, false, deadline, f);
        if (k < 0)
                return k;

        memcpy(all, there + world, world * size);
        return 0;
}

int rendezvous_broadcast(Rendezvous *r, void *data, size_t size, uint64_t deadline, Failure *f) {
        _cleanup_free_ uint8_t *there = NULL;
        int k;

        if (!r)
                return 0;
        if (!is_hub(r))
                return ask(r, NULL, 0, data, size, deadline, f);

        k = allocate_pieces(r, 0, &there, f);
        if (k < 0)
                return k;
        k = collect(r, 0, there, NULL, false, deadline, f);
        if (k < 0)
                return k;
        return answer(r, data, size, false, deadline, f);
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
        uint64_t deadline = now_usec() + FAREWELL_USEC;
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

        for (int i = 0; i < n_connections(r); i++) {
                Connection *c = &r->peers[i];

                if (c->fd >= 0)
                        (void) connection_send(c, MESSAGE_ERROR, payload, size, deadline);
        }
}
