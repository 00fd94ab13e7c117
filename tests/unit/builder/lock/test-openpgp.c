/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/openpgp.h"
#include "shared/strv.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* gpg --export of an Ed25519 key, and what gpg says its fingerprint is. */
#define GPG                                                                                        \
        "mDMEawQheRYJKwYBBAHaRw8BAQdA6vcEt9r4vpGlrvoZtZKPY80c9P1ppSCBR4YBQAGohDa0IFVuaXQgVGVzdCA8" \
        "dW5pdEBleGFtcGxlLmludmFsaWQ+iJAEExYIADgWIQSgzIuxrbDE2o1y+HYC3dzlIyaNvgUCawQheQIbAwULCQgH" \
        "AgYVCgkICwIEFgIDAQIeAQIXgAAKCRAC3dzlIyaNviZeAP9R3lnAWja0jPe5mIIxysu94wg9TDIXFYoFprhOmVl7" \
        "0wD+Lpre2/jrberPJSYMIOlA2uhgj4o9QAdWNL1lEsqoCwA="
#define GPG_FINGERPRINT "A0CC8BB1ADB0C4DA8D72F87602DDDCE523268DBE"

/* RFC 9580, A.3: a version 6 certificate. */
#define RFC                                                                \
        "xioGY4d/4xsAAAAg+U2nu0jWCmHlZ3BqZYfQMxmZu52JGggkLq2EVD34laPCsQYf" \
        "GwoAAABCBYJjh3/jAwsJBwUVCg4IDAIWAAKbAwIeCSIhBssYbE8GCaaX5NUt+mxy" \
        "KwwfHifBilZwj2Ul7Ce62azJBScJAgcCAAAAAK0oIBA+LX0ifsDm185Ecds2v8lw" \
        "gyU2kCcUmKfvBXbAf6rhRYWzuQOwEn7E/aLwIwRaLsdry0+VcallHhSu4RN6HWaE" \
        "QsiPlR4zxP/TP7mhfVEe7XWPxtnMUMtf15OyA51YBM4qBmOHf+MZAAAAIIaTJINn" \
        "+eUBXbki+PSAld2nhJh/LVmFsS+60WyvXkQ1wpsGGBsKAAAALAWCY4d/4wKbDCIh" \
        "BssYbE8GCaaX5NUt+mxyKwwfHifBilZwj2Ul7Ce62azJAAAAAAQBIKbpGG2dWTX8" \
        "j+VjFM21J0hqWlEg+bdiojWnKfA5AQpWUtWnNwDEM0g12vYxoWM8Y81W+bHBw805" \
        "I8kWVkXU6vFOi+HWvv/ira7ofJu16NnoUkhclkUrk0mXubZvyl4GBg=="
#define RFC_FINGERPRINT "CB186C4F0609A697E4D52DFA6C722B0C1F1E27C18A56708F6525EC27BAD9ACC9"

/* In memory of its own, so that AddressSanitizer sees a byte read too many. */
typedef struct Bytes {
        unsigned char *data;
        size_t size;
} Bytes;

static void bytes_done(Bytes *b) {
        free(b->data);
}
#define _cleanup_bytes_ _cleanup_(bytes_done)

static Bytes copy(const void *data, size_t size) {
        Bytes b = { malloc(size ? size : 1), size };

        assert_non_null(b.data);
        memcpy(b.data, data, size);
        return b;
}

static Bytes decode(const char *text) {
        unsigned char data[1024];
        int size = EVP_DecodeBlock(data, (const unsigned char *) text, (int) strlen(text));

        assert_true(size > 0);
        for (const char *p = text + strlen(text); p[-1] == '='; p--)
                size--;
        return copy(data, (size_t) size);
}

static void finds(const void *data, size_t size, const char *wanted) {
        _cleanup_bytes_ Bytes b = copy(data, size);
        _cleanup_strv_free_ char **found = NULL;
        _cleanup_free_ char *joined = NULL;

        assert_int_equal(openpgp_fingerprints(b.data, b.size, &found), 0);
        joined = strv_join(found, " ");
        assert_string_equal(joined, wanted);
}

static void refuses(const void *data, size_t size) {
        _cleanup_bytes_ Bytes b = copy(data, size);
        char **found = NULL;

        assert_int_equal(openpgp_fingerprints(b.data, b.size, &found), -EBADMSG);
        assert_null(found);
}

static void test_version_4(void **state) {
        _cleanup_bytes_ Bytes b = decode(GPG);

        (void) state;
        finds(b.data, b.size, GPG_FINGERPRINT);
}

static void test_version_6(void **state) {
        _cleanup_bytes_ Bytes b = decode(RFC);

        (void) state;
        finds(b.data, b.size, RFC_FINGERPRINT);
}

/* The same key packet called version 5; sha256 of 0x9a, four octets of length, body. */
static void test_version_5(void **state) {
        _cleanup_bytes_ Bytes b = decode(RFC);

        (void) state;
        b.data[2] = 5;
        finds(b.data, 2 + 42, "C826E56567905F806F41D743ECB8BEA5D13132D9ADE6DDEE7929F29554346C76");
}

static void test_every_key_of_a_ring_is_found(void **state) {
        _cleanup_bytes_ Bytes a = decode(GPG), b = decode(RFC);
        unsigned char both[1024];

        (void) state;
        memcpy(both, a.data, a.size);
        memcpy(both + a.size, b.data, b.size);
        finds(both, a.size + b.size, GPG_FINGERPRINT " " RFC_FINGERPRINT);
}

/* The same body with each kind of length before it. */
static void test_every_form_of_length(void **state) {
        static const struct {
                size_t size;
                unsigned char header[6];
        } forms[] = {
                { 2, { 0x98, 51 } },
                { 3, { 0x99, 0, 51 } },
                { 5, { 0x9a, 0, 0, 0, 51 } },
                { 2, { 0xc6, 51 } },
                { 6, { 0xc6, 255, 0, 0, 0, 51 } },
        };
        _cleanup_bytes_ Bytes b = decode(GPG);
        unsigned char key[64];

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(forms); i++) {
                memcpy(key, forms[i].header, forms[i].size);
                memcpy(key + forms[i].size, b.data + 2, 51);
                finds(key, forms[i].size + 51, GPG_FINGERPRINT);
        }
}

static void test_a_length_of_two_octets(void **state) {
        unsigned char key[2048] = { 0xc6, 192 + (1000 - 192) / 256, (1000 - 192) % 256, 4 };
        _cleanup_strv_free_ char **found = NULL;

        (void) state;
        assert_int_equal(openpgp_fingerprints(key, 3 + 1000, &found), 0);
        refuses(key, 3 + 999);
        refuses(key, 3 + 1001);
}

/* Wherever it is cut, it is no key any more, or the key with fewer packets behind it. */
static void test_cut_short(void **state) {
        _cleanup_bytes_ Bytes b = decode(RFC);
        size_t whole = 0;

        (void) state;
        for (size_t n = 0; n < b.size; n++) {
                _cleanup_bytes_ Bytes cut = copy(b.data, n);
                _cleanup_strv_free_ char **found = NULL;
                int r = openpgp_fingerprints(cut.data, cut.size, &found);

                if (r == 0) {
                        whole++;
                        assert_string_equal(found[0], RFC_FINGERPRINT);
                } else
                        assert_int_equal(r, -EBADMSG);
        }
        assert_int_equal(whole, 3); /* behind the key, its signature, its subkey */
}

static void test_hostile_lengths(void **state) {
        static const unsigned char lengths[][6] = {
                { 0xc6, 255, 255, 255, 255, 255 }, /* 4 GiB */
                { 0xc6, 255, 0x7f, 255, 255, 255 },
                { 0xc6, 224, 4, 4, 4, 4 }, /* in parts */
                { 0xc6, 254, 4, 4, 4, 4 }, /* in parts, of 1 GiB */
                { 0x9b, 4, 4, 4, 4, 4 },   /* until the end of the file */
                { 0x9a, 255, 255, 255, 255, 4 },
                { 0x99, 255, 255, 4, 4, 4 },
                { 0xc6, 0, 0xc6, 0, 0xc6, 0 }, /* nothing in it */
                { 0x98, 0, 0x98, 0, 0x98, 0 },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(lengths); i++)
                for (size_t n = 0; n <= sizeof(lengths[i]); n++)
                        refuses(lengths[i], n);
}

static void test_a_version_4_key_that_its_hash_has_no_room_for(void **state) {
        size_t size = 0x10000;
        unsigned char *key = calloc(1, 6 + size);

        (void) state;
        assert_non_null(key);
        memcpy(key, (unsigned char[]) { 0xc6, 255, 0, 1, 0, 0, 4 }, 7);
        refuses(key, 6 + size);
        free(key);
}

static void test_other_versions(void **state) {
        (void) state;
        for (unsigned version = 0; version < 256; version++)
                if (version < 4 || version > 6)
                        refuses((unsigned char[]) { 0xc6, 3, (unsigned char) version, 1, 2 }, 5);
}

/* Secret keys, encrypted data, markers: whatever a public key does not hold. */
static void test_other_packets(void **state) {
        _cleanup_bytes_ Bytes b = decode(GPG);

        (void) state;
        for (unsigned tag = 0; tag < 64; tag++) {
                unsigned char ring[512];

                if (tag == 2 || tag == 6 || tag == 13 || tag == 14 || tag == 17)
                        continue;
                memcpy(ring, b.data, b.size);
                memcpy(ring + b.size, (unsigned char[]) { (unsigned char) (0xc0 | tag), 1, 4 }, 3);
                refuses(ring, b.size + 3);
        }
}

static void test_a_part_before_its_key(void **state) {
        _cleanup_bytes_ Bytes b = decode(GPG);

        (void) state;
        refuses(b.data + 2 + 51, b.size - 2 - 51);
}

static void test_armour_and_text(void **state) {
        static const char armour[] = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" GPG
                                     "\n-----END PGP PUBLIC KEY BLOCK-----\n";

        (void) state;
        refuses(armour, sizeof(armour) - 1);
        refuses("", 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_version_4),
                cmocka_unit_test(test_version_6),
                cmocka_unit_test(test_version_5),
                cmocka_unit_test(test_every_key_of_a_ring_is_found),
                cmocka_unit_test(test_every_form_of_length),
                cmocka_unit_test(test_a_length_of_two_octets),
                cmocka_unit_test(test_cut_short),
                cmocka_unit_test(test_hostile_lengths),
                cmocka_unit_test(test_a_version_4_key_that_its_hash_has_no_room_for),
                cmocka_unit_test(test_other_versions),
                cmocka_unit_test(test_other_packets),
                cmocka_unit_test(test_a_part_before_its_key),
                cmocka_unit_test(test_armour_and_text),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
