/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild sign: the list of sums, and signatures over it. What is not as the build left it is not
 * signed. */

#include "release/internal.h"
#include "common/minisign.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <time.h>

#define SUMS_MAX (16 * 1024 * 1024)

static int add_sum(Release *r, const char *name, Sums *list) {
        const Sum *sum;
        int k;

        if (sums_find(list, name))
                return 0;
        k = release_hash(r, name, &sum);
        if (k < 0 || !sum)
                return k;
        return sums_add(list, name, sum->digest, sum->size);
}

/* A file that the user names, and the note that 'imgbuild export' left beside it. */
static int add_further(Release *r, const char *name, Sums *list) {
        _cleanup_free_ char *note = strf("%s.from.json", name);
        int k;

        if (!note)
                return -ENOMEM;
        if (!sums_name_valid(name) || startswith(name, RELEASE_SUMS)) {
                release_fault(r, "%s cannot be signed: name files of the folder, without a path",
                                name);
                return 0;
        }
        k = add_sum(r, name, list);
        return k < 0 || !release_has(r, note) ? k : add_sum(r, note, list);
}

static int make_list(Release *r, char *const *more, Sums *list) {
        int k = 0;

        for (size_t i = 0; i < r->built.n && k == 0; i++)
                k = add_sum(r, r->built.sums[i].name, list);
        STRV_FOREACH (name, ARGV(MANIFEST, SUMS))
                k = k < 0 ? k : add_sum(r, *name, list);
        STRV_FOREACH (name, ARGV(RELEASE_DOCUMENTS))
                if (k == 0 && release_has(r, *name))
                        k = add_sum(r, *name, list);
        STRV_FOREACH (name, more)
                k = k < 0 ? k : add_further(r, *name, list);
        sums_sort(list);
        return k;
}

/* Whoever verifies the folder will be told of it; better now. */
static int tell_foreign(const Release *r, const Sums *list) {
        _cleanup_strv_free_ char **files = NULL, **folders = NULL;
        int k;

        k = release_find_foreign(r, list, &files, &folders);
        if (k < 0)
                return log_error_errno(k, "%s: cannot read the folder", r->folder);
        STRV_FOREACH (name, files)
                log_warning("%s/%s is not signed, and 'imgbuild verify' will say so: name it behind the folder, or move it away",
                                r->folder, *name);
        return 0;
}

/* Signatures of another list are no longer any. */
static int write_list(const char *folder, const char *text) {
        _cleanup_free_ char *path = path_join(folder, RELEASE_SUMS), *before = NULL;

        if (!path)
                return -ENOMEM;
        if (read_file(path, SUMS_MAX, &before, NULL) >= 0 && streq(before, text))
                return 0;
        STRV_FOREACH (name, ARGV(RELEASE_MINISIG, RELEASE_ASC)) {
                _cleanup_free_ char *signature = path_join(folder, *name);

                if (!signature)
                        return -ENOMEM;
                if (unlink(signature) < 0 && errno != ENOENT)
                        return -errno;
        }
        return write_file_durable(path, text, strlen(text), 0644);
}

static int write_signature(const Release *r, const SecretKey *k, const char *text) {
        _cleanup_free_ char *signature = NULL, *comment = NULL,
                            *path = path_join(r->folder, RELEASE_MINISIG);
        char id[2 * KEY_ID + 1];
        int n;

        comment = strf("timestamp:%lld\tfile:" RELEASE_SUMS "\timage:%s\thashed",
                        (long long) time(NULL), json_get_string(r->manifest, "name"));
        if (!path || !comment)
                return -ENOMEM;
        n = minisign_sign(k, text, strlen(text), comment, &signature);
        if (n < 0)
                return n;
        n = write_file_durable(path, signature, strlen(signature), 0644);
        if (n < 0)
                return n;
        key_id_format(k->public.id, id);
        log_info("Signed %s/" RELEASE_SUMS " with the key %s", r->folder, id);
        return 0;
}

/* For 'imgbuild verify' and minisign: a token gives it to nobody else in this form. */
static int write_public(const SecretKey *k, const char *path) {
        _cleanup_free_ char *text = path ? public_key_format(&k->public) : NULL;
        _cleanup_free_ char *before = NULL;
        int r;

        if (!path)
                return 0;
        /* The secret key's own file, say. */
        r = read_file(path, SUMS_MAX, &before, NULL);
        if (before && text && streq(before, text))
                return 0;
        if (r != -ENOENT)
                return log_error_return(-EINVAL,
                                "%s: there is another file of that name: name a new one, --public=FILE",
                                path);
        r = text ? write_file_durable(path, text, strlen(text), 0644) : -ENOMEM;

        return r < 0 ? log_error_errno(r, "%s: cannot write the public key", path) : 0;
}

int release_sign(const char *folder, const SignOptions *o) {
        _cleanup_release_ Release release = { .folder = folder };
        _cleanup_secret_key_ SecretKey key = {};
        _cleanup_sums_ Sums list = {};
        _cleanup_free_ char *text = NULL;
        int r;

        if (o->key) {
                r = secret_key_read(o->key, o->passphrase, &key);
                if (r < 0)
                        return r;
                r = write_public(&key, o->public);
                if (r < 0)
                        return r;
        }
        r = release_open(&release);
        if (r != 0)
                return r;
        if (release_check_images(&release) < 0 || release_check_sbom(&release) < 0 ||
                        make_list(&release, o->more, &list) < 0)
                return log_oom();
        if (release.faults > 0) {
                log_error("%s is not signed: it is not what its build left", folder);
                return release.faults;
        }

        r = tell_foreign(&release, &list);
        if (r < 0)
                return r;
        text = sums_format(&list);
        if (!text)
                return log_oom();
        r = write_list(folder, text);
        if (r < 0)
                return log_error_errno(r, "%s/" RELEASE_SUMS ": cannot write it", folder);
        if (o->key) {
                r = write_signature(&release, &key, text);
                if (r < 0)
                        return log_error_errno(
                                        r, "%s/" RELEASE_MINISIG ": cannot write it", folder);
        }
        return o->gpg ? gpg_sign(folder, o->gpg) : 0;
}
