/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/rpm-header.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* A file as rpm writes it, made entry by entry. */
typedef struct Rpm {
        uint8_t bytes[4096];
        size_t size;
} Rpm;

typedef struct Entry {
        uint32_t tag, type;
        const char *text; /* NULL: number */
        uint32_t number;
} Entry;

static void put_number(uint8_t *at, uint32_t n) {
        at[0] = (uint8_t) (n >> 24);
        at[1] = (uint8_t) (n >> 16);
        at[2] = (uint8_t) (n >> 8);
        at[3] = (uint8_t) n;
}

static void put_section(Rpm *r, const Entry *entries, size_t n) {
        static const uint8_t magic[] = { 0x8e, 0xad, 0xe8, 0x01 };
        uint8_t *intro = r->bytes + r->size, *entry = intro + 16, *data = entry + 16 * n;
        uint32_t used = 0;

        memcpy(intro, magic, sizeof(magic));
        for (size_t i = 0; i < n; i++, entry += 16) {
                used = entries[i].text ? used : (used + 3) / 4 * 4;
                put_number(entry, entries[i].tag);
                put_number(entry + 4, entries[i].type);
                put_number(entry + 8, used);
                put_number(entry + 12, 1);
                if (entries[i].text) {
                        strcpy((char *) data + used, entries[i].text);
                        used += (uint32_t) strlen(entries[i].text) + 1;
                } else {
                        put_number(data + used, entries[i].number);
                        used += 4;
                }
        }
        put_number(intro + 8, (uint32_t) n);
        put_number(intro + 12, used);
        r->size += 16 + 16 * n + used;
}

static Rpm *make(const Entry *entries, size_t n) {
        static const uint8_t lead[] = { 0xed, 0xab, 0xee, 0xdb };
        static const Entry signature = { 267, 6, "not ours to read", 0 };
        static Rpm rpm;

        memset(&rpm, 0, sizeof(rpm));
        memcpy(rpm.bytes, lead, sizeof(lead));
        rpm.size = 96;
        put_section(&rpm, &signature, 1);
        rpm.size = (rpm.size + 7) / 8 * 8;
        put_section(&rpm, entries, n);
        return &rpm;
}

static const Entry whole[] = {
        { 1000, 6, "tool", 0 },
        { 1001, 6, "1.2", 0 },
        { 1002, 6, "3.el9", 0 },
        { 1022, 6, "x86_64", 0 },
        { 1003, 4, NULL, 7 },
};

static void reads_name_version_and_architecture(void **state _unused_) {
        _cleanup_rpm_header_ RpmHeader h = {};
        Rpm *r = make(whole, ELEMENTSOF(whole));

        assert_int_equal(rpm_header_parse(r->bytes, r->size, &h), 0);
        assert_string_equal(h.name, "tool");
        assert_string_equal(h.version, "7:1.2-3.el9");
        assert_string_equal(h.arch, "x86_64");
}

static void an_epoch_may_be_missing(void **state _unused_) {
        _cleanup_rpm_header_ RpmHeader h = {};
        Rpm *r = make(whole, ELEMENTSOF(whole) - 1);

        assert_int_equal(rpm_header_parse(r->bytes, r->size, &h), 0);
        assert_string_equal(h.version, "1.2-3.el9");
}

static void a_file_cut_off_anywhere_is_none(void **state _unused_) {
        const Rpm *r = make(whole, ELEMENTSOF(whole));

        for (size_t size = 0; size < r->size; size++) {
                /* Of just this size, so that a sanitizer sees what is read behind it. */
                _cleanup_free_ uint8_t *cut = malloc(size + !size);
                RpmHeader h = {};

                memcpy(cut, r->bytes, size);
                assert_int_equal(rpm_header_parse(cut, size, &h), -EBADMSG);
        }
}

/* No byte of it changed leads out of it. */
static void any_byte_may_be_another(void **state _unused_) {
        const Rpm *r = make(whole, ELEMENTSOF(whole));

        for (size_t i = 0; i < r->size; i++)
                for (unsigned bit = 0; bit < 8; bit++) {
                        _cleanup_free_ uint8_t *other = malloc(r->size);
                        _cleanup_rpm_header_ RpmHeader h = {};

                        memcpy(other, r->bytes, r->size);
                        other[i] ^= (uint8_t) (1u << bit);
                        (void) rpm_header_parse(other, r->size, &h);
                }
}

static void what_could_be_read_in_two_ways_is_refused(void **state _unused_) {
        const Entry twice[] = { whole[0], whole[1], whole[2], whole[3], { 1000, 6, "other", 0 } };
        const Entry number[] = { { 1000, 4, NULL, 1 }, whole[1], whole[2], whole[3] };
        const Entry empty[] = { { 1000, 6, "", 0 }, whole[1], whole[2], whole[3] };
        RpmHeader h = {};
        Rpm *r = make(twice, ELEMENTSOF(twice));

        assert_int_equal(rpm_header_parse(r->bytes, r->size, &h), -EBADMSG);
        r = make(number, ELEMENTSOF(number));
        assert_int_equal(rpm_header_parse(r->bytes, r->size, &h), -EBADMSG);
        r = make(empty, ELEMENTSOF(empty));
        assert_int_equal(rpm_header_parse(r->bytes, r->size, &h), -EBADMSG);
        r = make(whole, 3);
        assert_int_equal(rpm_header_parse(r->bytes, r->size, &h), -EBADMSG);
}

static void files_are_read_as_far_as_needed(void **state _unused_) {
        char path[] = "/tmp/imgbuild-rpm-XXXXXX";
        _cleanup_close_ int fd = mkstemp(path);
        _cleanup_rpm_header_ RpmHeader h = {};
        const Rpm *r = make(whole, ELEMENTSOF(whole));

        assert_true(fd >= 0);
        assert_int_equal(write_all(fd, r->bytes, r->size), 0);
        assert_int_equal(ftruncate(fd, 1 << 20), 0); /* the payload */
        assert_int_equal(rpm_header_read(path, &h), 0);
        assert_string_equal(h.name, "tool");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rpm_header_read(path, &h), -ENOENT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_name_version_and_architecture),
                cmocka_unit_test(an_epoch_may_be_missing),
                cmocka_unit_test(a_file_cut_off_anywhere_is_none),
                cmocka_unit_test(any_byte_may_be_another),
                cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
                cmocka_unit_test(files_are_read_as_far_as_needed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
