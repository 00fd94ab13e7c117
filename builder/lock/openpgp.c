/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A sequence of packets: a tag, a length, a body. Whoever wrote the lock wrote this, so every
 * length is held against what is left. */

#include "lock/openpgp.h"
#include "shared/strv.h"

#include <openssl/evp.h>

typedef struct Input {
        const unsigned char *at;
        size_t left;
} Input;

typedef struct Packet {
        unsigned tag;
        const unsigned char *body;
        size_t size;
} Packet;

enum {
        TAG_SIGNATURE = 2,
        TAG_PUBLIC_KEY = 6,
        TAG_USER_ID = 13,
        TAG_PUBLIC_SUBKEY = 14,
        TAG_USER_ATTRIBUTE = 17,
};

/* n: at most 4 octets, the highest first. */
static int take_number(Input *in, size_t n, size_t *ret) {
        size_t value = 0;

        if (in->left < n)
                return -EBADMSG;
        for (size_t i = 0; i < n; i++)
                value = value << 8 | in->at[i];
        in->at += n;
        in->left -= n;
        *ret = value;
        return 0;
}

/* Section 4.2.1. Lengths in parts are for data that is streamed: no key has them. */
static int take_length(Input *in, size_t *ret) {
        size_t first, second;
        int r;

        r = take_number(in, 1, &first);
        if (r < 0)
                return r;
        if (first < 192) {
                *ret = first;
                return 0;
        }
        if (first == 255)
                return take_number(in, 4, ret);
        if (first >= 224)
                return -EBADMSG;

        r = take_number(in, 1, &second);
        if (r < 0)
                return r;
        *ret = ((first - 192) << 8) + second + 192;
        return 0;
}

/* Section 4.2.2, the older form: the length's size is in the tag. 3: until the end of the file. */
static int take_legacy_length(Input *in, unsigned type, size_t *ret) {
        return type == 3 ? -EBADMSG : take_number(in, (size_t) 1 << type, ret);
}

static int take_packet(Input *in, Packet *ret) {
        size_t header, size;
        Packet p;
        int r;

        r = take_number(in, 1, &header);
        if (r < 0)
                return r;
        if (!(header & 0x80))
                return -EBADMSG;
        p.tag = header & 0x40 ? header & 0x3f : header >> 2 & 0x0f;
        r = header & 0x40 ? take_length(in, &size) : take_legacy_length(in, header & 3, &size);
        if (r < 0)
                return r;
        if (size > in->left)
                return -EBADMSG;

        p.body = in->at;
        p.size = size;
        in->at += size;
        in->left -= size;
        *ret = p;
        return 0;
}

/* What is hashed before a key's body, by the key's version (section 5.5.4; version 5 is
 * LibrePGP's): this octet, then the body's length in so many octets. */
static const struct {
        unsigned char version, first, length_size;
        const EVP_MD *(*digest)(void);
} forms[] = {
        { 4, 0x99, 2, EVP_sha1 },
        { 5, 0x9a, 4, EVP_sha256 },
        { 6, 0x9b, 4, EVP_sha256 },
};

static int digest_key(const EVP_MD *type, const unsigned char *head, size_t head_size,
                const Packet *p, unsigned char *ret, unsigned *ret_size) {
        EVP_MD_CTX *c = EVP_MD_CTX_new();
        int good = c && EVP_DigestInit_ex(c, type, NULL) == 1 &&
                   EVP_DigestUpdate(c, head, head_size) == 1 &&
                   EVP_DigestUpdate(c, p->body, p->size) == 1 &&
                   EVP_DigestFinal_ex(c, ret, ret_size) == 1;

        EVP_MD_CTX_free(c);
        return good ? 0 : -ENOMEM;
}

static int fingerprint(const Packet *p, char **ret) {
        unsigned char head[5], digest[EVP_MAX_MD_SIZE];
        char text[2 * EVP_MAX_MD_SIZE + 1];
        unsigned size;
        size_t form = 0;
        int r;

        while (form < ELEMENTSOF(forms) && (p->size == 0 || forms[form].version != p->body[0]))
                form++;
        if (form == ELEMENTSOF(forms) || (forms[form].length_size == 2 && p->size > 0xffff))
                return -EBADMSG;
        head[0] = forms[form].first;
        for (size_t i = 0, n = forms[form].length_size; i < n; i++)
                head[1 + i] = (unsigned char) (p->size >> 8 * (n - 1 - i));
        r = digest_key(forms[form].digest(), head, (size_t) 1 + forms[form].length_size, p, digest,
                        &size);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < size; i++)
                snprintf(text + (size_t) 2 * i, 3, "%02X", digest[i]);
        *ret = strdup(text);
        return *ret ? 0 : -ENOMEM;
}

/* A user id, a signature or a subkey belongs to the primary key before it. */
static int take_part(const Packet *p, char ***fingerprints) {
        char *found;
        int r;

        switch (p->tag) {
        case TAG_PUBLIC_KEY:
                r = fingerprint(p, &found);
                return r < 0 ? r : strv_push(fingerprints, found);
        case TAG_SIGNATURE:
        case TAG_USER_ID:
        case TAG_PUBLIC_SUBKEY:
        case TAG_USER_ATTRIBUTE:
                return *fingerprints ? 0 : -EBADMSG;
        default:
                return -EBADMSG;
        }
}

int openpgp_fingerprints(const void *data, size_t size, char ***ret) {
        _cleanup_strv_free_ char **fingerprints = NULL;
        Input in = { data, size };

        while (in.left > 0) {
                Packet p;
                int r = take_packet(&in, &p);

                if (r < 0)
                        return r;
                r = take_part(&p, &fingerprints);
                if (r < 0)
                        return r;
        }
        if (!fingerprints)
                return -EBADMSG;

        *ret = TAKE_PTR(fingerprints);
        return 0;
}
