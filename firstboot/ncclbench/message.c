/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Messages as bytes, their authentication, and what handshake and errors carry. */

#include "ncclbench/message.h"

#include <endian.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

static uint32_t get_u32(const uint8_t *p) {
        uint32_t v;

        memcpy(&v, p, sizeof(v));
        return be32toh(v);
}

static void put_u32(uint8_t *p, uint32_t v) {
        v = htobe32(v);
        memcpy(p, &v, sizeof(v));
}

int message_parse(const uint8_t *data, size_t have, size_t payload_max, Message *ret) {
        static const uint8_t magic[] = { 'N', 'B' };
        Message m = {};

        /* Refused at the first byte that is off: a port scanner gets no chance to make us wait. */
        for (size_t i = 0; i < sizeof(magic) && i < have; i++)
                if (data[i] != magic[i])
                        return -EBADMSG;
        if (have > 2 && data[2] != MESSAGE_VERSION)
                return -EPROTO;
        if (have > 3 && (data[3] == 0 || data[3] >= _MESSAGE_TYPE_MAX))
                return -EBADMSG;
        if (have < MESSAGE_HEADER_SIZE)
                return 0;

        m.type = (MessageType) data[3];
        m.size = get_u32(data + 4);
        if (m.size > payload_max)
                return -EBADMSG;
        m.total = (size_t) MESSAGE_HEADER_SIZE + m.size + MESSAGE_MAC_SIZE;
        if (have < m.total)
                return 0;
        m.payload = data + MESSAGE_HEADER_SIZE;
        m.mac = m.payload + m.size;
        *ret = m;
        return 1;
}

/* Over sender, sequence, header and payload. */
static int mac(const MessageKey *key, bool from_hub, uint64_t sequence,
                const uint8_t *header_and_payload, size_t size, uint8_t ret[MESSAGE_MAC_SIZE]) {
        _cleanup_free_ uint8_t *text = NULL;
        unsigned n = 0;

        if (key->size == 0) {
                memset(ret, 0, MESSAGE_MAC_SIZE);
                return 0;
        }
        text = malloc(9 + size);
        if (!text)
                return -ENOMEM;
        text[0] = from_hub;
        put_u32(text + 1, (uint32_t) (sequence >> 32));
        put_u32(text + 5, (uint32_t) sequence);
        memcpy(text + 9, header_and_payload, size);
        if (!HMAC(EVP_sha256(), key->bytes, (int) key->size, text, 9 + size, ret, &n) ||
                        n != MESSAGE_MAC_SIZE)
                return -EIO;
        return 0;
}

int message_compose(const MessageKey *key, bool from_hub, uint64_t sequence, MessageType type,
                const void *payload, uint32_t size, uint8_t **ret, size_t *ret_size) {
        size_t total = (size_t) MESSAGE_HEADER_SIZE + size + MESSAGE_MAC_SIZE;
        _cleanup_free_ uint8_t *data = malloc(total);
        int r;

        if (!data)
                return -ENOMEM;
        data[0] = 'N';
        data[1] = 'B';
        data[2] = MESSAGE_VERSION;
        data[3] = (uint8_t) type;
        put_u32(data + 4, size);
        if (size > 0)
                memcpy(data + MESSAGE_HEADER_SIZE, payload, size);
        r = mac(key, from_hub, sequence, data, MESSAGE_HEADER_SIZE + size,
                        data + MESSAGE_HEADER_SIZE + size);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(data);
        *ret_size = total;
        return 0;
}

bool message_authentic(const Message *m, const MessageKey *key, bool from_hub, uint64_t sequence) {
        uint8_t want[MESSAGE_MAC_SIZE];

        if (mac(key, from_hub, sequence, m->payload - MESSAGE_HEADER_SIZE,
                            MESSAGE_HEADER_SIZE + m->size, want) < 0)
                return false;
        return CRYPTO_memcmp(want, m->mac, sizeof(want)) == 0;
}

int message_key_from_secret(const void *secret, size_t size, MessageKey *ret) {
        MessageKey key = { .size = SHA256_DIGEST_LENGTH };

        if (!SHA256(secret, size, key.bytes))
                return -EIO;
        *ret = key;
        return 0;
}

int message_key_for_session(const MessageKey *secret, const uint8_t hub_nonce[MESSAGE_NONCE_SIZE],
                const uint8_t peer_nonce[MESSAGE_NONCE_SIZE], MessageKey *ret) {
        uint8_t text[2 * MESSAGE_NONCE_SIZE + 7] = "session";
        MessageKey key = {};
        unsigned n = 0;

        memcpy(text + 7, hub_nonce, MESSAGE_NONCE_SIZE);
        memcpy(text + 7 + MESSAGE_NONCE_SIZE, peer_nonce, MESSAGE_NONCE_SIZE);
        if (!HMAC(EVP_sha256(), secret->bytes, (int) secret->size, text, sizeof(text), key.bytes,
                            &n))
                return -EIO;
        key.size = n;
        *ret = key;
        return 0;
}

void join_pack(const Join *join, uint8_t payload[JOIN_SIZE]) {
        memcpy(payload, join->hub_nonce, MESSAGE_NONCE_SIZE);
        memcpy(payload + MESSAGE_NONCE_SIZE, join->peer_nonce, MESSAGE_NONCE_SIZE);
        put_u32(payload + 2 * MESSAGE_NONCE_SIZE, join->rank);
        put_u32(payload + 2 * MESSAGE_NONCE_SIZE + 4, join->world);
}

int join_unpack(const Message *m, Join *ret) {
        if (m->size != JOIN_SIZE)
                return -EBADMSG;
        memcpy(ret->hub_nonce, m->payload, MESSAGE_NONCE_SIZE);
        memcpy(ret->peer_nonce, m->payload + MESSAGE_NONCE_SIZE, MESSAGE_NONCE_SIZE);
        ret->rank = get_u32(m->payload + 2 * MESSAGE_NONCE_SIZE);
        ret->world = get_u32(m->payload + 2 * MESSAGE_NONCE_SIZE + 4);
        return 0;
}

int error_pack(const ErrorNote *note, uint8_t **ret, uint32_t *ret_size) {
        size_t code = strnlen(note->code, sizeof(note->code) - 1),
               text = strnlen(note->text, MESSAGE_TEXT_MAX);
        uint8_t *p = malloc(4 + code + 1 + text);

        if (!p)
                return -ENOMEM;
        put_u32(p, note->rank);
        memcpy(p + 4, note->code, code);
        p[4 + code] = '\0';
        memcpy(p + 4 + code + 1, note->text, text);
        *ret = p;
        *ret_size = (uint32_t) (4 + code + 1 + text);
        return 0;
}

/* Another machine's words end on our terminal and in our journal. */
static void copy_printable(char *to, const uint8_t *from, size_t n) {
        for (size_t i = 0; i < n; i++)
                to[i] = from[i] < 0x20 || from[i] == 0x7f ? '?' : (char) from[i];
        to[n] = '\0';
}

int error_unpack(const Message *m, ErrorNote *ret) {
        const uint8_t *end, *code = m->payload + 4;
        size_t text;

        if (m->size < 5)
                return -EBADMSG;
        end = memchr(code, '\0', m->size - 4);
        if (!end || (size_t) (end - code) >= sizeof(ret->code))
                return -EBADMSG;
        text = m->size - 4 - (size_t) (end - code) - 1;
        if (text > MESSAGE_TEXT_MAX)
                return -EBADMSG;
        ret->rank = get_u32(m->payload);
        copy_printable(ret->code, code, (size_t) (end - code));
        copy_printable(ret->text, end + 1, text);
        return 0;
}
