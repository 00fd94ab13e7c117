/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild verify: signature, sums, manifest and lock, each against the next. Everything that is
 * wrong is told, not the first of it alone. */

#include "release/internal.h"
#include "common/minisign.h"

#include "sandbox/open-inside.h"
#include "shared/log.h"

#define SUMS_MAX (16 * 1024 * 1024)

static int check_minisig(Release *r, const PublicKey *key, const char *text, size_t size) {
        _cleanup_free_ char *signature = NULL, *comment = NULL;
        char wanted[2 * KEY_ID + 1], other[2 * KEY_ID + 1];
        unsigned char id[KEY_ID] = {};
        size_t n;
        int k;

        k = inside_read_output(r->folder, RELEASE_MINISIG, SIGNATURE_MAX, &signature, &n);
        if (k < 0) {
                release_fault(r, RELEASE_MINISIG ": %s",
                                k == -ENOENT ? "is missing: nobody signed this with a minisign key"
                                             : release_why(k));
                return k == -ENOMEM ? k : 0;
        }
        key_id_format(key->id, wanted);
        k = minisign_verify(key, text, size, signature, n, id, &comment);
        switch (k) {
        case 0:
                log_info("Signed with the key %s: %s", wanted, comment);
                return 0;
        case -EBADMSG:
                release_fault(r, RELEASE_MINISIG
                                " is no prehashed signature as minisign writes it without -c");
                return 0;
        case -ENOKEY:
                key_id_format(id, other);
                release_fault(r, RELEASE_MINISIG " is by the key %s, not by %s", other, wanted);
                return 0;
        case -EKEYREJECTED:
                release_fault(r,
                                RELEASE_SUMS
                                " or its signature was changed: the key %s did not sign this",
                                wanted);
                return 0;
        default:
                return k;
        }
}

/* Every file of the list has its sum. */
static int check_listed(Release *r, const Sums *list) {
        for (size_t i = 0; i < list->n; i++) {
                const Sum *listed = list->sums + i, *actual;
                int k = release_hash(r, listed->name, &actual);

                if (k < 0)
                        return k;
                if (actual && !streq(actual->digest, listed->digest))
                        release_fault(r, "%s is not what was signed: other bytes", listed->name);
        }
        return 0;
}

/* And no file of the build's is missing in it. */
static void check_complete(Release *r, const Sums *list) {
        for (size_t i = 0; i < r->built.n; i++)
                if (!sums_find(list, r->built.sums[i].name))
                        release_fault(r, RELEASE_SUMS " does not name %s", r->built.sums[i].name);
        STRV_FOREACH (name, ARGV(MANIFEST, SUMS))
                if (!sums_find(list, *name))
                        release_fault(r, RELEASE_SUMS " does not name %s", *name);
        STRV_FOREACH (name, ARGV(RELEASE_DOCUMENTS))
                if (release_has(r, *name) && !sums_find(list, *name))
                        release_fault(r, "%s is newer than the signatures: sign again", *name);
}

/* Who looks for an image in the folder takes what lies there: nothing of it may be unknown. */
static int check_foreign(Release *r, const Sums *list) {
        _cleanup_strv_free_ char **files = NULL, **folders = NULL;
        int k;

        k = release_find_foreign(r, list, &files, &folders);
        if (k < 0)
                return log_error_errno(k, "%s: cannot read the folder", r->folder);
        STRV_FOREACH (name, files) {
                if (strv_contains(ARGV(RELEASE_DOCUMENTS), *name))
                        continue; /* check_complete() tells those, and what to do */
                release_fault(r, "%s is not in " RELEASE_SUMS ": nobody signed it", *name);
        }
        STRV_FOREACH (name, folders)
                log_notice("%s/%s is a folder, which nobody signs: it was not looked at", r->folder,
                                *name);
        return 0;
}

/* The signatures of the list, and the list: *ret is empty where there is none, a fault where one is
 * wanted. */
static int check_list(Release *r, const VerifyOptions *o, const PublicKey *key, Sums *ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int k;

        k = inside_read_output(r->folder, RELEASE_SUMS, SUMS_MAX, &text, &size);
        if (k == -ENOENT && !o->key && !o->keyring) {
                log_info("%s is not signed", r->folder);
                return 0;
        }
        if (k < 0) {
                release_fault(r, RELEASE_SUMS ": %s",
                                k == -ENOENT ? "is missing: this was never signed"
                                             : release_why(k));
                return k == -ENOMEM ? k : 0;
        }
        if (!o->key && !o->keyring)
                log_notice("%s: nobody's signature was looked at; name a key with --key",
                                r->folder);
        if (o->key) {
                k = check_minisig(r, key, text, size);
                if (k < 0)
                        return k;
        }
        if (o->keyring) {
                k = gpg_verify(r, o->keyring, text, size);
                if (k < 0)
                        return k;
        }
        k = sums_parse(text, size, ret);
        if (k == -EBADMSG)
                release_fault(r, RELEASE_SUMS " is no list of sums as imgbuild writes it");
        return k == -EBADMSG ? 0 : k;
}

static int check_manifest(Release *r, const VerifyOptions *o, const Sums *list) {
        int k;

        if (list->n > 0)
                check_complete(r, list);
        if (o->image && !sums_find(&r->built, o->image)) {
                release_fault(r, MANIFEST " knows no image %s", o->image);
                return 0;
        }
        k = release_check_images(r);
        if (k < 0)
                return log_oom();
        k = release_check_sbom(r);
        if (k < 0)
                return log_oom();
        return o->lock ? release_check_lock(r, o->lock) : 0;
}

int release_verify(const char *folder, const VerifyOptions *o) {
        _cleanup_release_ Release r = { .folder = folder, .image = o->image };
        _cleanup_sums_ Sums list = {};
        PublicKey key;
        int k, opened;

        if (o->key) {
                k = public_key_read(o->key, &key);
                if (k < 0)
                        return k;
        }
        opened = release_open(&r);
        if (opened < 0)
                return opened;
        k = check_list(&r, o, &key, &list);
        if (k < 0)
                return k == -ENOMEM ? log_oom() : k;
        k = check_listed(&r, &list);
        if (k < 0)
                return log_oom();
        k = list.n > 0 && !o->image ? check_foreign(&r, &list) : 0;
        if (k < 0)
                return k;
        k = opened == 0 ? check_manifest(&r, o, &list) : 0;
        return k < 0 ? k : r.faults;
}
