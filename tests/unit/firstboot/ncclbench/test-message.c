/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/message.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static MessageKey key_of(const char *secret) {
        MessageKey key;

        assert_int_equal(message_key_from_secret(secret, strlen(secret), &key), 0);
        return key;
}

static uint8_t *compose(const MessageKey *key, bool from_hub, uint64_t sequence, MessageType type,
                const char *payload, size_t *ret_size) {
        uint8_t *data;

        assert_int_equal(message_compose(key, from_hub, sequence, type, payload,
                                         (uint32_t) strlen(payload), &data, ret_size),
                        0);
        return data;
}

static void what_is_composed_is_parsed(void **state _unused_) {
        MessageKey key = key_of("secret");
        size_t size;
        _cleanup_free_ uint8_t *data = compose(&key, true, 5, MESSAGE_DATA, "hello", &size);
        Message m;

        assert_int_equal(message_parse(data, size, 100, &m), 1);
        assert_int_equal(m.type, MESSAGE_DATA);
        assert_int_equal(m.size, 5);
        assert_memory_equal(m.payload, "hello", 5);
        assert_int_equal(m.total, size);
        assert_true(message_authentic(&m, &key, true, 5));
}

static void every_prefix_asks_for_more(void **state _unused_) {
        MessageKey key = key_of("secret");
        size_t size;
        _cleanup_free_ uint8_t *data = compose(&key, true, 0, MESSAGE_DATA, "hello", &size);
        Message m;

        for (size_t n = 0; n < size; n++)
                assert_int_equal(message_parse(data, n, 100, &m), 0);
}

static void every_flipped_bit_is_noticed(void **state _unused_) {
        MessageKey key = key_of("secret");
        size_t size;
        _cleanup_free_ uint8_t *data = compose(&key, false, 1, MESSAGE_DATA, "hello", &size);

        for (size_t bit = 0; bit < 8 * size; bit++) {
                Message m;

                data[bit / 8] ^= (uint8_t) (1u << bit % 8);
                assert_false(message_parse(data, size, 100, &m) == 1 &&
                                message_authentic(&m, &key, false, 1));
                data[bit / 8] ^= (uint8_t) (1u << bit % 8);
        }
}

static void another_secret_sender_or_number_is_not_authentic(void **state _unused_) {
        MessageKey key = key_of("secret"), other = key_of("Secret");
        size_t size;
        _cleanup_free_ uint8_t *data = compose(&key, false, 1, MESSAGE_DATA, "hello", &size);
        Message m;

        assert_int_equal(message_parse(data, size, 100, &m), 1);
        assert_true(message_authentic(&m, &key, false, 1));
        assert_false(message_authentic(&m, &other, false, 1));
        assert_false(message_authentic(&m, &key, true, 1));  /* our own message sent back to us */
        assert_false(message_authentic(&m, &key, false, 2)); /* the same again */
}

static void too_large_payloads_are_refused_by_their_header(void **state _unused_) {
        static const uint8_t header[] = { 'N', 'B', MESSAGE_VERSION, MESSAGE_DATA, 0xff, 0xff, 0xff,
                0xff };
        Message m;

        assert_int_equal(message_parse(header, sizeof(header), 1000, &m), -EBADMSG);
}

static void strangers_are_refused_at_their_first_byte(void **state _unused_) {
        Message m;

        assert_int_equal(message_parse((const uint8_t *) "GET / HTTP/1.1", 1, 1000, &m), -EBADMSG);
        assert_int_equal(message_parse((const uint8_t *) "NX", 2, 1000, &m), -EBADMSG);
}

static void other_versions_are_told_apart(void **state _unused_) {
        static const uint8_t header[] = { 'N', 'B', MESSAGE_VERSION + 1 };
        Message m;

        assert_int_equal(message_parse(header, sizeof(header), 1000, &m), -EPROTO);
}

static void unknown_types_are_refused(void **state _unused_) {
        static const uint8_t none[] = { 'N', 'B', MESSAGE_VERSION, 0 },
                             high[] = { 'N', 'B', MESSAGE_VERSION, 6 };
        Message m;

        assert_int_equal(message_parse(none, sizeof(none), 1000, &m), -EBADMSG);
        assert_int_equal(message_parse(high, sizeof(high), 1000, &m), -EBADMSG);
}

static void join_survives_the_journey(void **state _unused_) {
        Join join = { .rank = 0x01020304, .world = 0x0a0b0c0d }, back;
        uint8_t payload[JOIN_SIZE];

        memset(join.hub_nonce, 1, sizeof(join.hub_nonce));
        memset(join.peer_nonce, 2, sizeof(join.peer_nonce));
        join_pack(&join, payload);
        assert_int_equal(join_unpack(&(Message) { .size = JOIN_SIZE, .payload = payload }, &back),
                        0);
        assert_memory_equal(&join, &back, sizeof(join));
        assert_int_equal(join_unpack(&(Message) { .size = JOIN_SIZE - 1, .payload = payload },
                                         &back),
                        -EBADMSG);
}

static void error_notes_survive_without_control_characters(void **state _unused_) {
        ErrorNote note = { .rank = 7, .code = "cuda.no-device", .text = "no\033[2J\nGPU" }, back;
        _cleanup_free_ uint8_t *payload = NULL;
        uint32_t size;

        assert_int_equal(error_pack(&note, &payload, &size), 0);
        assert_int_equal(error_unpack(&(Message) { .size = size, .payload = payload }, &back), 0);
        assert_int_equal(back.rank, 7);
        assert_string_equal(back.code, "cuda.no-device");
        assert_string_equal(back.text, "no?[2J?GPU");
}

static void malformed_error_notes_are_refused(void **state _unused_) {
        uint8_t payload[200];
        ErrorNote note;

        memset(payload, 'x', sizeof(payload));
        assert_int_equal(error_unpack(&(Message) { .size = 4, .payload = payload }, &note),
                        -EBADMSG);
        assert_int_equal(error_unpack(&(Message) { .size = 200, .payload = payload }, &note),
                        -EBADMSG); /* no NUL */
        payload[150] = '\0';       /* a code far too long */
        assert_int_equal(error_unpack(&(Message) { .size = 200, .payload = payload }, &note),
                        -EBADMSG);
}

static void sessions_have_keys_of_their_own(void **state _unused_) {
        MessageKey secret = key_of("secret"), a, b;
        uint8_t one[MESSAGE_NONCE_SIZE] = { 1 }, two[MESSAGE_NONCE_SIZE] = { 2 };

        assert_int_equal(message_key_for_session(&secret, one, two, &a), 0);
        assert_int_equal(message_key_for_session(&secret, two, one, &b), 0);
        assert_int_equal(a.size, 32);
        assert_memory_not_equal(a.bytes, b.bytes, 32);
        assert_memory_not_equal(a.bytes, secret.bytes, 32);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_composed_is_parsed),
                cmocka_unit_test(every_prefix_asks_for_more),
                cmocka_unit_test(every_flipped_bit_is_noticed),
                cmocka_unit_test(another_secret_sender_or_number_is_not_authentic),
                cmocka_unit_test(too_large_payloads_are_refused_by_their_header),
                cmocka_unit_test(strangers_are_refused_at_their_first_byte),
                cmocka_unit_test(other_versions_are_told_apart),
                cmocka_unit_test(unknown_types_are_refused),
                cmocka_unit_test(join_survives_the_journey),
                cmocka_unit_test(error_notes_survive_without_control_characters),
                cmocka_unit_test(malformed_error_notes_are_refused),
                cmocka_unit_test(sessions_have_keys_of_their_own),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
