/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One session with one token; only what is to be signed goes there. */

#include "common/token-key.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <openssl/crypto.h>
#include <p11-kit/p11-kit.h>
#include <p11-kit/uri.h>

#define PIN_FILE_MAX 4096
#define SLOTS_MAX 256 /* of one module, with a token in them */

/* Of PKCS#11 3.0, which older headers lack. */
#define KEY_EC_EDWARDS 0x00000040UL
#define MECHANISM_EDDSA 0x00001057UL

struct TokenKey {
        CK_FUNCTION_LIST **modules; /* all that this host is set up with, or the URI's one */
        CK_FUNCTION_LIST *module;   /* the token's */
        CK_SESSION_HANDLE session;
        CK_OBJECT_HANDLE key;
        unsigned char public[ED25519_KEY];
        bool one, open; /* one: `modules` is of one */
        char *uri;      /* for messages: it has no PIN in it */
};

static const char *words_of(CK_RV rv) {
        switch (rv) {
        case CKR_PIN_INCORRECT:
        case CKR_PIN_LEN_RANGE:
        case CKR_PIN_INVALID:
                return "the PIN is wrong; it was tried once, for tokens count";
        case CKR_PIN_LOCKED:
                return "its PIN is locked after too many wrong ones";
        case CKR_USER_PIN_NOT_INITIALIZED:
                return "its PIN is not set yet";
        case CKR_MECHANISM_INVALID:
        case CKR_KEY_TYPE_INCONSISTENT:
                return "the token does not sign with Ed25519 (CKM_EDDSA)";
        case CKR_USER_NOT_LOGGED_IN:
                return "the token wants a PIN: name a file with it, --passphrase=FILE";
        default:
                return p11_kit_strerror(rv);
        }
}

static int failed(const TokenKey *k, const char *what, CK_RV rv) {
        return log_error_return(rv == CKR_HOST_MEMORY ? -ENOMEM : -EINVAL, "%s: %s: %s", k->uri,
                        what, words_of(rv));
}

TokenKey *token_key_close(TokenKey *k) {
        if (!k)
                return NULL;
        if (k->open)
                (void) k->module->C_CloseSession(k->session);
        if (k->modules && k->one) {
                (void) p11_kit_module_finalize(k->modules[0]);
                p11_kit_module_release(k->modules[0]);
                free(k->modules);
        } else if (k->modules)
                p11_kit_modules_finalize_and_release(k->modules);
        free(k->uri);
        free(k);
        return NULL;
}

bool token_key_is_uri(const char *text) {
        return startswith(text, "pkcs11:");
}

static void uri_freep(P11KitUri **u) {
        p11_kit_uri_free(*u);
}
static int parse(const char *text, P11KitUri **ret) {
        _cleanup_(uri_freep) P11KitUri *u = p11_kit_uri_new();
        int r;

        if (!u)
                return log_oom();
        r = p11_kit_uri_parse(text, P11_KIT_URI_FOR_ANY, u);
        if (r != P11_KIT_URI_OK)
                return log_error_return(-EINVAL,
                                "That is no PKCS#11 URI: pkcs11:token=NAME;object=LABEL, or id=%%01 in place of a label (p11tool --list-all shows them)");
        /* Not shown: it has the PIN in it. */
        if (p11_kit_uri_get_pin_value(u) || p11_kit_uri_get_pin_source(u))
                return log_error_return(-EINVAL,
                                "A PIN does not belong into the URI, where every user of this host reads it: name a file with it, --passphrase=FILE");
        if (p11_kit_uri_any_unrecognized(u))
                return log_error_return(-EINVAL,
                                "%s: there is an attribute that PKCS#11 URIs do not have (RFC 7512)",
                                text);
        *ret = TAKE_PTR(u);
        return 0;
}

static int load(TokenKey *k, P11KitUri *u) {
        const char *path = p11_kit_uri_get_module_path(u);
        CK_RV rv;

        if (!path) {
                k->modules = p11_kit_modules_load_and_initialize(0);
                if (k->modules)
                        return 0;
                return log_error_return(-EINVAL, "%s: the PKCS#11 modules cannot be loaded: %s",
                                k->uri, strempty(p11_kit_message()));
        }
        k->modules = calloc(2, sizeof(*k->modules));
        if (!k->modules)
                return log_oom();
        k->modules[0] = p11_kit_module_load(path, 0);
        if (!k->modules[0]) {
                free(TAKE_PTR(k->modules));
                return log_error_return(-EINVAL, "%s: that module cannot be loaded: %s", k->uri,
                                strempty(p11_kit_message()));
        }
        k->one = true;
        rv = p11_kit_module_initialize(k->modules[0]);
        return rv == CKR_OK ? 0 : failed(k, "its module does not start", rv);
}

static bool is_like(P11KitUri *u, CK_FUNCTION_LIST *m, CK_SLOT_ID slot) {
        CK_TOKEN_INFO info;

        return m->C_GetTokenInfo(slot, &info) == CKR_OK && p11_kit_uri_match_token_info(u, &info);
}

/* How many of a module's tokens the URI is about. */
static size_t match_tokens(P11KitUri *u, CK_FUNCTION_LIST *m, CK_SLOT_ID *ret) {
        CK_SLOT_ID slots[SLOTS_MAX];
        CK_ULONG n = ELEMENTSOF(slots);
        size_t found = 0;

        if (m->C_GetSlotList(CK_TRUE, slots, &n) != CKR_OK)
                return 0;
        for (CK_ULONG i = 0; i < n; i++) {
                if (!is_like(u, m, slots[i]))
                        continue;
                *ret = slots[i];
                found++;
        }
        return found;
}

static int find_token(TokenKey *k, P11KitUri *u, CK_SLOT_ID *ret) {
        size_t found = 0;

        for (size_t i = 0; k->modules[i]; i++) {
                size_t n = match_tokens(u, k->modules[i], ret);

                if (n > 0)
                        k->module = k->modules[i];
                found += n;
        }
        if (found == 0)
                return log_error_return(-EINVAL,
                                "%s: there is no such token (p11tool --list-tokens shows which there are)",
                                k->uri);
        if (found > 1)
                return log_error_return(-EINVAL,
                                "%s: more than one token is like that: name it, token=NAME",
                                k->uri);
        return 0;
}

static int log_in(TokenKey *k, const char *pin_path) {
        _cleanup_free_ char *pin = NULL;
        size_t size, n;
        CK_RV rv;
        int r;

        if (!pin_path)
                return 0;
        r = read_file(pin_path, PIN_FILE_MAX, &pin, &size);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read the PIN", pin_path),
                       r == -ENOENT ? -EINVAL : r;
        n = strcspn(pin, "\r\n");
        rv = k->module->C_Login(k->session, CKU_USER, (unsigned char *) pin, n);
        OPENSSL_cleanse(pin, size);
        return rv == CKR_OK || rv == CKR_USER_ALREADY_LOGGED_IN
                               ? 0
                               : failed(k, "the token does not let us in", rv);
}

/* The one key of that kind which has the URI's label or id. */
static int find_key(TokenKey *k, P11KitUri *u, CK_OBJECT_CLASS class, CK_OBJECT_HANDLE *ret) {
        CK_KEY_TYPE type = KEY_EC_EDWARDS;
        CK_ATTRIBUTE wanted[4] = { { CKA_CLASS, &class, sizeof(class) },
                { CKA_KEY_TYPE, &type, sizeof(type) } };
        CK_OBJECT_HANDLE found[2];
        CK_ULONG n = 2, n_found = 0;
        CK_RV rv;

        for (size_t i = 0; i < 2; i++) {
                CK_ATTRIBUTE *a = p11_kit_uri_get_attribute(u, i == 0 ? CKA_LABEL : CKA_ID);

                if (a)
                        wanted[n++] = *a;
        }
        rv = k->module->C_FindObjectsInit(k->session, wanted, n);
        if (rv == CKR_OK) {
                rv = k->module->C_FindObjects(k->session, found, ELEMENTSOF(found), &n_found);
                (void) k->module->C_FindObjectsFinal(k->session);
        }
        if (rv != CKR_OK)
                return failed(k, "cannot look for the key", rv);
        if (n_found == 0)
                return log_error_return(-EINVAL,
                                class == CKO_PRIVATE_KEY
                                                ? "%s: the token has no such Ed25519 key, or shows it with a PIN alone (--passphrase=FILE)"
                                                : "%s: the token has the key, but not its public half",
                                k->uri);
        if (n_found > 1)
                return log_error_return(-EINVAL,
                                "%s: more than one key is like that: name it, object=LABEL or id=%%01",
                                k->uri);
        *ret = found[0];
        return 0;
}

/* CKA_EC_POINT is the point in a DER octet string, or, in some tokens, by itself. */
static int read_public(TokenKey *k, P11KitUri *u, unsigned char ret[ED25519_KEY]) {
        unsigned char point[ED25519_KEY + 2];
        CK_ATTRIBUTE a = { CKA_EC_POINT, point, sizeof(point) };
        CK_OBJECT_HANDLE key;
        CK_RV rv;
        int r;

        r = find_key(k, u, CKO_PUBLIC_KEY, &key);
        if (r < 0)
                return r;
        rv = k->module->C_GetAttributeValue(k->session, key, &a, 1);
        if (rv != CKR_OK)
                return failed(k, "cannot read the public key", rv);
        if (a.ulValueLen == sizeof(point) && point[0] == 4 && point[1] == ED25519_KEY)
                memcpy(ret, point + 2, ED25519_KEY);
        else if (a.ulValueLen == ED25519_KEY)
                memcpy(ret, point, ED25519_KEY);
        else
                return log_error_return(
                                -EINVAL, "%s: its public key is not one of Ed25519", k->uri);
        return 0;
}

int token_key_open(const char *uri, const char *pin_path, TokenKey **ret,
                unsigned char ret_public[ED25519_KEY]) {
        _cleanup_(token_key_closep) TokenKey *k = calloc(1, sizeof(*k));
        _cleanup_(uri_freep) P11KitUri *u = NULL;
        CK_SLOT_ID slot = 0;
        CK_RV rv;
        int r;

        if (!k)
                return log_oom();
        r = parse(uri, &u);
        if (r < 0)
                return r;
        k->uri = strdup(uri);
        if (!k->uri)
                return log_oom();
        r = load(k, u);
        if (r < 0)
                return r;
        r = find_token(k, u, &slot);
        if (r < 0)
                return r;
        rv = k->module->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &k->session);
        if (rv != CKR_OK)
                return failed(k, "the token cannot be opened", rv);
        k->open = true;
        r = log_in(k, pin_path);
        if (r < 0)
                return r;
        r = find_key(k, u, CKO_PRIVATE_KEY, &k->key);
        if (r < 0)
                return r;
        r = read_public(k, u, k->public);
        if (r < 0)
                return r;
        memcpy(ret_public, k->public, ED25519_KEY);
        *ret = TAKE_PTR(k);
        return 0;
}

int token_key_sign(const TokenKey *k, const void *data, size_t size,
                unsigned char ret[ED25519_SIGNATURE]) {
        CK_MECHANISM eddsa = { MECHANISM_EDDSA, NULL, 0 };
        CK_ULONG n = ED25519_SIGNATURE;
        CK_RV rv;
        int r;

        rv = k->module->C_SignInit(k->session, &eddsa, k->key);
        if (rv == CKR_OK)
                rv = k->module->C_Sign(k->session, (unsigned char *) data, size, ret, &n);
        if (rv != CKR_OK || n != ED25519_SIGNATURE) {
                (void) failed(k, "the token does not sign", rv == CKR_OK ? CKR_GENERAL_ERROR : rv);
                return -EIO;
        }
        /* A label or an id may be of halves of two pairs. */
        r = ed25519_verify(k->public, data, size, ret);
        if (r == -EKEYREJECTED)
                return log_error_return(-EINVAL,
                                "%s: the private key that is so called does not belong to its public half: nobody could verify what it signs",
                                k->uri);
        return r;
}
