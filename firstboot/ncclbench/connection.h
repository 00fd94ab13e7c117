/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One rendezvous connection: a socket, the bytes read so far, keys and message counters; and how
 * process 0 listens and the others reach it. */

#include "ncclbench/message.h"

#define CONNECTION_DATA_MAX (64u << 20) /* payload; the receiver usually allows less */

typedef struct Connection {
        int fd;
        int rank;      /* of the other side; -1: it has not joined yet */
        bool from_hub; /* what it sends comes from process 0 */
        MessageKey key;
        uint64_t sent, received;           /* messages under the key */
        uint8_t nonce[MESSAGE_NONCE_SIZE]; /* the one we gave it (process 0's side) */
        uint64_t deadline;                 /* for joining */
        uint8_t *input;
        size_t used, size;
        bool eof;
} Connection;

void connection_done(Connection *c);

/* Sends one message by the deadline. -ETIMEDOUT, -EPIPE … */
int connection_send(Connection *c, MessageType type, const void *payload, uint32_t size,
                uint64_t deadline);

/* Reads what is there, without waiting, up to one message of at most payload_max. Returns 1 with
 * *ret (valid until connection_drop()), 0 where there is no whole message yet, -ENOTCONN at the end
 * of the stream, -EBADMSG, -EPROTO, -EKEYREJECTED for a MAC that is wrong. */
int connection_receive(Connection *c, size_t payload_max, Message *ret);

/* Forgets the message that connection_receive() gave. */
void connection_drop(Connection *c, const Message *m);

/* As connection_receive(), waiting until the deadline (-ETIMEDOUT). */
int connection_await(Connection *c, size_t payload_max, uint64_t deadline, Message *ret);

/* Listens on all addresses, or on the loopback alone where host is one. Returns the fd. */
int socket_listen(const char *host, const char *port);

/* Connects, trying again until the deadline while nobody listens yet. Returns the fd;
 * -EHOSTUNREACH where the name does not resolve, -ETIMEDOUT. */
int socket_connect(const char *host, const char *port, uint64_t deadline);

/* Our own numeric address on a connection. */
int socket_own_address(int fd, char *ret, size_t size, bool *ret_loopback);
