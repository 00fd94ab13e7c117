/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk/delta-format.h"
#include "recipe-fixture.h"

#define OLD 1000u /* blocks */
#define LEFT 2000u

/* A control of numbers below 128: a byte each. */
#define PARSE(...)                                                                 \
        ({                                                                         \
                const uint8_t _control[] = { __VA_ARGS__ };                        \
                _cleanup_delta_piece_ DeltaPiece _piece = {};                      \
                delta_piece_parse(_control, sizeof(_control), OLD, LEFT, &_piece); \
        })
#define ZERO(n) ((n) << 2)
#define FROM(n, distance) ((n) << 2 | 1), (distance) << 1
#define DATA(n) ((n) << 2 | 2)

static void a_piece_is_the_same_when_it_is_read(void **state _unused_) {
        _cleanup_delta_piece_ DeltaPiece p = {}, again = {};
        _cleanup_free_ uint8_t *control = NULL;
        size_t size;

        assert_int_equal(delta_piece_add_dictionary(&p, (DeltaRange) { 3, 2 }), 0);
        assert_int_equal(delta_piece_add_dictionary(&p, (DeltaRange) { 5, 1 }), 0);
        assert_int_equal(delta_piece_add_dictionary(&p, (DeltaRange) { 900, 100 }), 0);
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_OLD, 990, 5 }), 0);
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_OLD, 995, 5 }), 0);
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_ZERO, 0, 1000 }), 0);
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_OLD, 0, 1 }), 0);
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_DATA, 0, 300 }), 0);
        assert_int_equal(p.n_dictionary, 2);
        assert_int_equal(p.n_ops, 4);

        assert_int_equal(delta_piece_format(&p, &control, &size), 0);
        assert_int_equal(delta_piece_parse(control, size, OLD, LEFT, &again), 0);
        assert_int_equal(again.n_ops, 4);
        for (size_t i = 0; i < 4; i++) {
                assert_int_equal(again.ops[i].kind, p.ops[i].kind);
                assert_int_equal(again.ops[i].blocks, p.ops[i].blocks);
                if (p.ops[i].kind == DELTA_OLD)
                        assert_int_equal(again.ops[i].from, p.ops[i].from);
        }
        assert_int_equal(again.dictionary[1].from, 900);
        assert_int_equal(again.dictionary_blocks, 103);
        assert_int_equal(again.data_blocks, 300);
        assert_int_equal(again.blocks, 1311);
}

static void nothing_beyond_the_old_disk_is_taken(void **state _unused_) {
        assert_int_equal(PARSE(0, FROM(10, 0)), 0);
        assert_int_equal(PARSE(0, 41, 0x80 | (0x3f << 1 & 0x7f), 0x0f), -EBADMSG); /* at 990 + 10 */
        assert_int_equal(PARSE(0, FROM(1, 0), 5, 5), -EBADMSG);    /* back beyond its start */
        assert_int_equal(PARSE(1, 0xe8, 7, 1, ZERO(1)), -EBADMSG); /* a dictionary at 1000 */
        assert_int_equal(PARSE(1, 0xe7, 7, 1, ZERO(1)), 0);        /* at 999 */
        assert_int_equal(PARSE(1, 0xe7, 7, 2, ZERO(1)), -EBADMSG);
        assert_int_equal(PARSE(2, 0xe7, 7, 1, 0, 1, ZERO(1)), -EBADMSG);
}

static void nothing_beyond_the_new_disk_is_taken(void **state _unused_) {
        assert_int_equal(PARSE(0, 0xc0, 0x3e), 0);        /* 2000 zeros */
        assert_int_equal(PARSE(0, 0xc4, 0x3e), -EBADMSG); /* 2001 */
        assert_int_equal(PARSE(0, 0xc0, 0x3e, ZERO(1)), -EBADMSG);
}

static void a_piece_makes_something(void **state _unused_) {
        assert_int_equal(PARSE(0), -EBADMSG);
        assert_int_equal(PARSE(0, ZERO(0)), -EBADMSG);
        assert_int_equal(PARSE(1, 0, 0, ZERO(1)), -EBADMSG);
        assert_int_equal(PARSE(0, 3), -EBADMSG); /* of no kind */
        assert_int_equal(PARSE(1), -EBADMSG);
}

static void numbers_end_and_do_not_overflow(void **state _unused_) {
        assert_int_equal(PARSE(0, 0x80), -EBADMSG);
        assert_int_equal(PARSE(0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1),
                        -EBADMSG);
        assert_int_equal(PARSE(0, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), -EBADMSG);
        assert_int_equal(PARSE(1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, ZERO(1)),
                        -EBADMSG);
        assert_int_equal(PARSE(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), -EBADMSG);
}

static void data_and_dictionary_have_limits(void **state _unused_) {
        _cleanup_delta_piece_ DeltaPiece p = {}, again = {};
        _cleanup_free_ uint8_t *control = NULL, *control2 = NULL;
        size_t size;

        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_DATA, 0, DELTA_DATA_MAX + 1 }), 0);
        assert_int_equal(delta_piece_format(&p, &control, &size), 0);
        assert_int_equal(delta_piece_parse(control, size, 1 << 20, 1 << 20, &again), -EBADMSG);
        delta_piece_done(&p);

        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_DATA, 0, 1 }), 0);
        assert_int_equal(delta_piece_add_dictionary(
                                         &p, (DeltaRange) { 0, DELTA_DICTIONARY_MAX + 1 }),
                        0);
        assert_int_equal(delta_piece_format(&p, &control2, &size), 0);
        assert_int_equal(delta_piece_parse(control2, size, 1 << 20, 1 << 20, &again), -EBADMSG);
}

#define SUM "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SIDE(size) "{\"size\": " size ", \"sha256\": \"" SUM "\", \"beginning\": \"" SUM "\""

static int parse_header(const char *text) {
        DeltaHeader h;
        size_t size;

        return delta_header_parse(text, strlen(text), &h, &size);
}

static void a_header_is_the_same_when_it_is_read(void **state _unused_) {
        const DeltaHeader h = { .old = { 4096, SUM, SUM },
                .new = { 1048577, SUM, SUM },
                .format = "qcow2",
                .file = SUM };
        _cleanup_free_ char *text = delta_header_format(&h), *more = NULL;
        DeltaHeader again;
        size_t size;

        more = strf("%sPIECES", text);
        assert_int_equal(delta_header_parse(more, strlen(more), &again, &size), 0);
        assert_int_equal(size, strlen(text));
        assert_int_equal(again.old.size, 4096);
        assert_int_equal(again.new.size, 1048577);
        assert_string_equal(again.format, "qcow2");
        assert_string_equal(again.file, SUM);
}

static void a_header_of_another_kind_is_none(void **state _unused_) {
        const char *const bad[] = {
                "",
                "imgbuild-delta 1\n",
                "imgbuild-delta 2\n{}\n",
                "imgbuild-delta 1\n{}\n",
                "imgbuild-delta 1\n{\"old\": " SIDE("1") "}, \"new\": " SIDE(
                                "1") ", \"format\": \"raw\", \"file\": \"" SUM "\"}}",
                "imgbuild-delta 1\n{\"old\": " SIDE("0") "}, \"new\": " SIDE(
                                "1") ", \"format\": \"raw\", \"file\": \"" SUM "\"}}\n",
                "imgbuild-delta 1\n{\"old\": " SIDE("-4096") "}, \"new\": " SIDE(
                                "1") ", \"format\": \"raw\", \"file\": \"" SUM "\"}}\n",
                "imgbuild-delta 1\n{\"old\": " SIDE("1") "}, \"new\": " SIDE(
                                "9223372036854775807") ", \"format\": \"raw\", \"file\": \"" SUM
                                                       "\"}}\n",
                "imgbuild-delta 1\n{\"old\": " SIDE("1") "}, \"new\": " SIDE(
                                "1") ", \"format\": \"vmdk\", \"file\": \"" SUM "\"}}\n",
                "imgbuild-delta 1\n{\"old\": " SIDE("1") "}, \"new\": " SIDE(
                                "1") ", \"format\": \"raw\", \"file\": \"../x\"}}\n",
        };

        assert_int_equal(parse_header("imgbuild-delta 1\n{\"old\": " SIDE("1") "}, \"new\": " SIDE(
                                         "1") ", \"format\": \"raw\", \"file\": \"" SUM "\"}}\n"),
                        0);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(parse_header(bad[i]), -EBADMSG);
}

static void a_header_has_an_end(void **state _unused_) {
        _cleanup_free_ char *text = malloc(100000);

        memset(text, ' ', 100000);
        memcpy(text, DELTA_MAGIC, strlen(DELTA_MAGIC));
        text[99998] = '\n';
        text[99999] = '\0';
        assert_int_equal(parse_header(text), -EBADMSG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_piece_is_the_same_when_it_is_read),
                cmocka_unit_test(nothing_beyond_the_old_disk_is_taken),
                cmocka_unit_test(nothing_beyond_the_new_disk_is_taken),
                cmocka_unit_test(a_piece_makes_something),
                cmocka_unit_test(numbers_end_and_do_not_overflow),
                cmocka_unit_test(data_and_dictionary_have_limits),
                cmocka_unit_test(a_header_is_the_same_when_it_is_read),
                cmocka_unit_test(a_header_of_another_kind_is_none),
                cmocka_unit_test(a_header_has_an_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
