/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* OpenSSL reads the certificates. A pin is the SHA-256 of the public key in DER (RFC 7469, 2.4). */

#include "daemon/helper/cluster-ca.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <time.h>

#define NAME_SIZE 256

static void biop(BIO **b) {
        BIO_free(*b);
}

static void x509p(X509 **x) {
        X509_free(*x);
}

int base64_text(const char *base64, char **ret) {
        size_t n = strlen(base64);
        _cleanup_free_ char *text = malloc(n + 4);
        int length;

        if (!text)
                return -ENOMEM;
        if (n == 0 || n > INT32_MAX)
                return -EBADMSG;
        length = EVP_DecodeBlock((unsigned char *) text, (const unsigned char *) base64, (int) n);
        if (length < 0)
                return -EBADMSG;
        /* OpenSSL counts what the padding stands for. */
        for (size_t i = n; i > 0 && base64[i - 1] == '=' && length > 0; i--)
                length--;
        text[length] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

static int pin_of(X509 *x, char ret[static 72]) {
        unsigned char *der = NULL, digest[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x), &der);
        int good;

        if (n <= 0)
                return -EBADMSG;
        good = EVP_Digest(der, (size_t) n, digest, &size, EVP_sha256(), NULL);
        OPENSSL_free(der);
        if (!good || size != 32)
                return -EIO;
        memcpy(ret, "sha256:", 8);
        for (unsigned i = 0; i < size; i++)
                snprintf(ret + 7 + 2 * i, 3, "%02x", digest[i]);
        return 0;
}

static bool is_among(const char *pin, json_object *hashes) {
        size_t n = json_array_length(hashes);

        for (size_t i = 0; i < n; i++)
                if (strcasecmp(pin, json_object_get_string(json_object_array_get_idx(hashes, i))) ==
                                0)
                        return true;
        return false;
}

int cluster_ca_is_pinned(const char *pem, json_object *hashes, char **ret_found) {
        _cleanup_(biop) BIO *bio = BIO_new_mem_buf(pem, -1);
        _cleanup_free_ char *first = NULL;
        int r;

        if (!bio)
                return -ENOMEM;
        for (;;) {
                _cleanup_(x509p) X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);
                char pin[72];

                if (!x)
                        break;
                r = pin_of(x, pin);
                if (r < 0)
                        return r;
                if (!first && !(first = strdup(pin)))
                        return -ENOMEM;
                if (!is_among(pin, hashes))
                        continue;
                *ret_found = TAKE_PTR(first);
                return 1;
        }
        if (!first)
                return -EBADMSG;
        *ret_found = TAKE_PTR(first);
        return 0;
}

static int seconds_of(const ASN1_TIME *t, int64_t *ret) {
        struct tm tm = {};

        if (!t || !ASN1_TIME_to_tm(t, &tm))
                return -EBADMSG;
        *ret = timegm(&tm);
        return 0;
}

int certificate_read(const char *pem, char **ret_name, int64_t *ret_from, int64_t *ret_until) {
        _cleanup_(biop) BIO *bio = BIO_new_mem_buf(pem, -1);
        _cleanup_(x509p) X509 *x = NULL;
        char name[NAME_SIZE] = "";
        int r;

        if (!bio)
                return -ENOMEM;
        x = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        if (!x)
                return -EBADMSG;
        (void) X509_NAME_get_text_by_NID(
                        X509_get_subject_name(x), NID_commonName, name, sizeof(name));
        r = seconds_of(X509_get0_notBefore(x), ret_from);
        if (r < 0)
                return r;
        r = seconds_of(X509_get0_notAfter(x), ret_until);
        if (r < 0)
                return r;
        *ret_name = strdup(name);
        return *ret_name ? 0 : -ENOMEM;
}
