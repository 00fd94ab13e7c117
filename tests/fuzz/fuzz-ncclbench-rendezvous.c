/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* All of ncclbench's rendezvous that takes bytes or text from outside: the first byte chooses
 * which. What a stranger sends before and after the handshake, what Slurm and torchrun put into
 * the environment. */

#include "ncclbench/launch.h"
#include "ncclbench/message.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A stream as connection.c reads it, in the pieces the network makes of it. */
static void stream(const uint8_t *data, size_t size) {
        static const MessageKey key = { .bytes = { 1, 2, 3 }, .size = 32 };
        size_t payload_max = size > 0 ? (size_t) data[0] * 16 : 0, have = 0;
        _cleanup_free_ uint8_t *heap = NULL;

        if (size == 0)
                return;
        data++;
        size--;
        while (have <= size) {
                /* A buffer of its own for each length, so that reading past the end is seen. */
                free(heap);
                heap = malloc(have ? have : 1);
                if (!heap)
                        return;
                memcpy(heap, data, have);

                Message m;
                int r = message_parse(heap, have, payload_max, &m);
                if (r < 0)
                        return;
                if (r == 0) {
                        have++;
                        continue;
                }
                assert(m.total <= have && m.size <= payload_max && m.type < _MESSAGE_TYPE_MAX);
                (void) message_authentic(&m, &key, true, have);

                Join join;
                uint8_t packed[JOIN_SIZE];
                if (join_unpack(&m, &join) >= 0) {
                        join_pack(&join, packed);
                        assert(memcmp(packed, m.payload, JOIN_SIZE) == 0);
                }
                ErrorNote note;
                if (error_unpack(&m, &note) >= 0) {
                        assert(strlen(note.code) < sizeof(note.code) &&
                                        strlen(note.text) < sizeof(note.text));
                        for (const char *p = note.text; *p; p++)
                                assert((unsigned char) *p >= 0x20 && *p != 0x7f);
                }
                data += m.total;
                size -= m.total;
                have = 0;
        }
}

static void node_list(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = strndup((const char *) data, size);
        char host[64];

        if (text && nodelist_first(text, host, sizeof(host)) >= 0) {
                assert(strlen(host) > 0 && strlen(host) < sizeof(host));
                assert(strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
                                strlen(host));
        }
}

/* Lines of NAME=VALUE. */
static void environment(const uint8_t *data, size_t size) {
        const Options options = { .rank = -1, .world = -1, .local_rank = -1 };
        _cleanup_free_ char *text = strndup((const char *) data, size), *error = NULL;
        char *lines[64] = {}, *save = NULL;
        size_t n = 0;
        Launch l;

        if (!text)
                return;
        for (char *line = strtok_r(text, "\n", &save); line && n < ELEMENTSOF(lines) - 1;
                        line = strtok_r(NULL, "\n", &save))
                lines[n++] = line;
        if (launch_detect(&options, lines, &l, &error) >= 0) {
                assert(l.rank >= 0 && l.rank < l.world);
                assert(l.world == 1 || (l.host[0] && l.port[0] && l.secret.size == 32));
        } else
                assert(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        if (size == 0)
                return 0;
        switch (data[0] % 3) {
        case 0:
                stream(data + 1, size - 1);
                break;
        case 1:
                node_list(data + 1, size - 1);
                break;
        default:
                environment(data + 1, size - 1);
        }
        return 0;
}
