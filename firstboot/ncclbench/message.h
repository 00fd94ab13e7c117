/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What travels over a rendezvous connection, as bytes: no sockets here, so that a fuzzer and the
 * unit tests reach every line (tests/fuzz/fuzz-ncclbench-rendezvous.c).
 *
 * A message is a header of 8 bytes ("NB", version, type, size of the payload, big-endian), the
 * payload, and 32 bytes of HMAC-SHA-256. Process 0 greets each connection with a nonce (HELLO);
 * the caller answers with its number, the world size and a nonce of its own (JOIN), under the
 * shared secret; process 0 does the same (WELCOME). From then on both use a key made of the secret
 * and both nonces, and count their messages, so that nothing can be replayed, reordered or slipped
 * in. Nothing is encrypted: what travels is no secret, but who may take part is. */

#include "shared/macro.h"

#define MESSAGE_HEADER_SIZE 8
#define MESSAGE_MAC_SIZE 32
#define MESSAGE_NONCE_SIZE 32
#define MESSAGE_VERSION 1
#define MESSAGE_TEXT_MAX 900 /* of an error */

typedef enum MessageType {
        MESSAGE_HELLO = 1,
        MESSAGE_JOIN,
        MESSAGE_WELCOME,
        MESSAGE_DATA,
        MESSAGE_ERROR,
        _MESSAGE_TYPE_MAX,
} MessageType;

typedef struct Message {
        MessageType type;
        uint32_t size;
        const uint8_t *payload, *mac; /* into the buffer that was parsed */
        size_t total;                 /* bytes of the whole message */
} Message;

/* Looks at the first `have` bytes. Returns 1 with *ret filled for a whole message, 0 where more
 * bytes are needed, -EBADMSG for what can never become a message of at most `payload_max`, -EPROTO
 * for the version of another program. */
int message_parse(const uint8_t *data, size_t have, size_t payload_max, Message *ret);

typedef struct MessageKey {
        uint8_t bytes[32];
        size_t size; /* 0: no key yet; such messages carry a MAC of zeros */
} MessageKey;

/* Composes a message; the caller frees it. `sequence` counts the sender's messages under this key,
 * `from_hub` is who sends. */
int message_compose(const MessageKey *key, bool from_hub, uint64_t sequence, MessageType type,
                const void *payload, uint32_t size, uint8_t **ret, size_t *ret_size);

/* Whether the MAC is the one that key, sender and sequence give. */
bool message_authentic(const Message *m, const MessageKey *key, bool from_hub, uint64_t sequence);

/* SHA-256 of whatever the users chose as their secret. */
int message_key_from_secret(const void *secret, size_t size, MessageKey *ret);
int message_key_for_session(const MessageKey *secret, const uint8_t hub_nonce[MESSAGE_NONCE_SIZE],
                const uint8_t peer_nonce[MESSAGE_NONCE_SIZE], MessageKey *ret);

typedef struct Join {
        uint8_t hub_nonce[MESSAGE_NONCE_SIZE], peer_nonce[MESSAGE_NONCE_SIZE];
        uint32_t rank, world;
} Join;

#define JOIN_SIZE (2 * MESSAGE_NONCE_SIZE + 8)
void join_pack(const Join *join, uint8_t payload[JOIN_SIZE]);
int join_unpack(const Message *m, Join *ret); /* -EBADMSG */

/* The number of the process, a reason code and a text. */
typedef struct ErrorNote {
        uint32_t rank;
        char code[48];
        char text[MESSAGE_TEXT_MAX + 1];
} ErrorNote;

int error_pack(const ErrorNote *note, uint8_t **ret, uint32_t *ret_size);
int error_unpack(const Message *m, ErrorNote *ret); /* -EBADMSG; control characters become '?' */
