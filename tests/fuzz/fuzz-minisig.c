/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a signature of one text by one key: only minisign's own holds, byte for byte. */

#include "common/base64.h"
#include "common/minisign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT "e4afa146b6cac84107134c69a12c93b983d4a09d5f628f325d11aa7347a8e895  x.qcow2\n"
#define KEY "RWQIRoCwiqQmPPMaTACNHjZvel/0WbtMYEl558/9kGgQS5kZrGemLTfB"
static const char signature[] =
                "untrusted comment: signature from minisign secret key\n"
                "RUQIRoCwiqQmPFqTL11u6iLUlJhTmr+1mS0KOLL6SkpUDooLdnsn8OTE2zjWByPV6FcmpaaW0Ch5Z33sBecQujUHGNqZoj2ZxwQ=\n"
                "trusted comment: a comment\n"
                "nHdIYXgIdrmc2yE9kK8WXh3cPEIWdyT/UVXlaiFQLnotdzTU+wvNyR6x61gXuCv+W08+Siv8t/h7frZqpZ2zAA==\n";

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-minisig: %s\n", what);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *comment = NULL;
        unsigned char raw[2 + sizeof(PublicKey)], id[KEY_ID];
        bool same = size == strlen(signature) && memcmp(data, signature, size) == 0;
        PublicKey key;
        int r;

        expect(base64_decode(KEY, raw, sizeof(raw)) == 0, "the key is none");
        memcpy(&key, raw + 2, sizeof(key));
        r = minisign_verify(&key, TEXT, strlen(TEXT), (const char *) data, size, id, &comment);
        expect(r == 0 || r == -EBADMSG || r == -ENOKEY || r == -EKEYREJECTED,
                        "a failure of another kind");
        expect((r == 0) == same, "another signature than the one there is");
        expect((r == 0) == !!comment, "a comment that nobody signed");
        return 0;
}
