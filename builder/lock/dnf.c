/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* dnf on a system that does not exist: its repositories, their keys and indexes. An index names the
 * files that it consists of by their digests, so that these come from the store where it has
 * them. */

#include "lock/dnf.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "store/fetch.h"
#include "store/store.h"

#include <time.h>

#define RECORDS_MAX 20 /* files of one index */

/* Bytes. What they have in earnest is a hundredth of it. */
#define INDEX_MAX (16 * 1024 * 1024)
#define SIGNATURE_MAX (1024 * 1024)
#define RECORD_MAX (UINT64_C(2) << 30)

#define DAY_SEC (24 * 60 * 60) /* by how much a mirror's clock may be ahead */

Dnf *dnf_free(Dnf *d) {
        if (!d)
                return NULL;
        if (d->root)
                rm_rf(d->root);
        for (size_t i = 0; i < d->n_repositories; i++) {
                free(d->repositories[i].keyring);
                strv_free(d->repositories[i].modules);
        }
        free(d->repositories);
        json_object_put(d->before);
        json_object_put(d->pinned);
        json_object_put(d->offered);
        free(d->root);
        free(d);
        return NULL;
}

int dnf_new(Context *ctx, const Recipe *recipe, Dnf **ret) {
        static const char *const folders[] = { "in/repositories", "in/rpms", "out/cache" };
        _cleanup_dnf_free_ Dnf *d = calloc(1, sizeof(*d));
        int r;

        if (!d)
                return log_oom();
        d->ctx = ctx;
        d->recipe = recipe;
        d->before = json_object_new_array();
        d->pinned = json_object_new_array();
        d->offered = json_object_new_object();
        if (!d->before || !d->pinned || !d->offered)
                return log_oom();
        r = store_scratch(ctx->store, "dnf", &d->root);
        if (r < 0)
                return log_error_errno(
                                r, "Cannot set up dnf in the store %s", store_path(ctx->store));
        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *folder = path_join(d->root, folders[i]);

                r = folder ? mkdir_p(folder, 0755) : -ENOMEM;
                if (r < 0)
                        return log_error_errno(r, "Cannot set up dnf in the store %s",
                                        store_path(ctx->store));
        }
        *ret = TAKE_PTR(d);
        return 0;
}

DnfRepository *dnf_find_repository(const Dnf *d, const char *name) {
        for (size_t i = 0; i < d->n_repositories; i++)
                if (streq(d->repositories[i].repository->name, name))
                        return d->repositories + i;
        return NULL;
}

static int add_modules(DnfRepository *q, const Repository *from) {
        STRV_FOREACH (module, from->modules)
                if (!strv_contains(q->modules, *module) && strv_extend(&q->modules, *module) < 0)
                        return log_oom();
        return 0;
}

int dnf_add_repository(Dnf *d, const Overlay *overlay, const Repository *repository) {
        DnfRepository *there = dnf_find_repository(d, repository->name), *grown;
        _cleanup_free_ char *keyring = strf("%s/%s.gpg", d->root, repository->name);
        int r;

        if (there && streq(there->repository->uri, repository->uri) &&
                        streq(there->repository->fingerprint, repository->fingerprint))
                return add_modules(there, repository); /* two overlays may bring the same one */
        if (there) {
                log_error("%s: there is another repository named \"%s\" already: give this one another name",
                                overlay ? overlay->path : d->recipe->path, repository->name);
                return -EINVAL;
        }
        if (!keyring)
                return log_oom();
        r = repository_key(d->ctx, d->recipe, overlay, repository, keyring);
        if (r < 0)
                return r;

        grown = reallocarray(d->repositories, d->n_repositories + 1, sizeof(*grown));
        if (!grown)
                return log_oom();
        d->repositories = grown;
        d->repositories[d->n_repositories++] = (DnfRepository) {
                .repository = repository,
                .keyring = TAKE_PTR(keyring),
                .enabled = !overlay,
        };
        return add_modules(d->repositories + d->n_repositories - 1, repository);
}

void dnf_enable_repository(Dnf *d, const Repository *repository) {
        DnfRepository *q = dnf_find_repository(d, repository->name);

        if (q)
                q->enabled = true;
}

static char *below(const Repository *q, const char *path) {
        size_t n = strlen(q->uri);

        while (n > 0 && q->uri[n - 1] == '/')
                n--;
        return strf("%.*s/%s", (int) n, q->uri, path);
}

/* A blob of the store as a file of the repository that the program sees. */
static int place(const Dnf *d, const Repository *q, const char *path, const char *sha256) {
        _cleanup_free_ char *blob = store_blob_path(d->ctx->store, sha256),
                            *to = strf("%s/in/repositories/%s/%s", d->root, q->name, path);
        int r;

        if (!blob || !to)
                return -ENOMEM;
        r = mkdir_parents(to, 0755);
        if (r < 0)
                return r;
        return link(blob, to) < 0 && errno != EEXIST ? -errno : 0;
}

/* A repository may do without one: then its packages are signed. */
static int verify_index(const Dnf *d, DnfRepository *q, const char *index) {
        _cleanup_free_ char *url = below(q->repository, "repodata/repomd.xml.asc"),
                            *what = strf("the signature of repository %s", q->repository->name),
                            *signature = NULL, *file = store_blob_path(d->ctx->store, index),
                            *why = NULL;
        FetchItem item = { .url = url, .what = what, .max = SIGNATURE_MAX, .optional = true };
        int r;

        if (!url || !what || !file)
                return log_oom();
        r = fetch_all(d->ctx, NULL, &item, 1);
        why = item.why;
        if (r == -EBADMSG)
                return log_error_return(r, "Repository %s: %s: %s", q->repository->name, url,
                                strempty(why));
        if (r == -ECANCELED || r == -ENOMEM || r == -ENOSPC)
                return r;
        if (r < 0)
                return 0;
        signature = store_blob_path(d->ctx->store, item.result);
        if (!signature)
                return log_oom();
        r = key_signed(d->ctx, q->keyring, signature, file);
        if (r < 0)
                return log_error_errno(r, "The signature of repository %s cannot be verified",
                                q->repository->name);
        if (r == 0) {
                log_error("Repository %s: its index is not signed by the pinned key %s, or the signature is not valid any more: %s. "
                          "Either the mirror is not right, or the vendor has another key now",
                                q->repository->name, q->repository->fingerprint, url);
                return -EBADMSG;
        }
        q->signed_index = true;
        return 0;
}

static int fetch_index(const Dnf *d, DnfRepository *q) {
        _cleanup_free_ char *url = below(q->repository, "repodata/repomd.xml"),
                            *what = strf("the index of repository %s", q->repository->name);
        FetchItem item = { .url = url, .what = what, .max = INDEX_MAX };
        int r;

        if (!url || !what)
                return log_oom();
        r = fetch_all(d->ctx, NULL, &item, 1);
        if (r < 0)
                return r;
        r = place(d, q->repository, "repodata/repomd.xml", item.result);
        if (r < 0)
                return log_error_errno(r, "Cannot set up repository %s", q->repository->name);
        return verify_index(d, q, item.result);
}

typedef struct Records {
        FetchItem items[RECORDS_MAX];
        char *urls[RECORDS_MAX];
        size_t n;
} Records;

static void records_done(Records *x) {
        for (size_t i = 0; i < x->n; i++)
                free(x->urls[i]);
}

/* What the index consists of, a stranger's XML says. */
static int add_record(const DnfRepository *q, json_object *o, const char *what, Records *x) {
        const char *path = json_get_string(o, "path"), *sha256 = json_get_string(o, "sha256");
        int64_t size = json_get_int(o, "size", 0);
        char *url;

        if (x->n >= RECORDS_MAX || !path || !sha256 || size < 0 || !lock_path_valid(path) ||
                        !digest_valid(sha256))
                return log_error_return(-EBADMSG,
                                "Repository %s: its repodata/repomd.xml is no index",
                                q->repository->name);
        url = below(q->repository, path);
        if (!url)
                return log_oom();
        x->urls[x->n] = url;
        x->items[x->n++] = (FetchItem) {
                .url = url,
                .sha256 = sha256,
                .size = (uint64_t) size,
                .max = RECORD_MAX,
                .what = what,
        };
        return 0;
}

static int fetch_records(const Dnf *d, const DnfRepository *q, json_object *records) {
        _cleanup_free_ char *what = strf("the index of repository %s", q->repository->name);
        _cleanup_(records_done) Records x = {};
        int r;

        if (!what)
                return log_oom();
        for (size_t i = 0; i < json_array_length(records); i++) {
                r = add_record(q, json_object_array_get_idx(records, i), what, &x);
                if (r < 0)
                        return r;
        }
        r = fetch_all(d->ctx, NULL, x.items, x.n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < x.n; i++) {
                json_object *o = json_object_array_get_idx(records, i);

                r = place(d, q->repository, json_get_string(o, "path"), x.items[i].sha256);
                if (r < 0)
                        return log_error_errno(
                                        r, "Cannot set up repository %s", q->repository->name);
        }
        return 0;
}

static int ask_records(const Dnf *d, json_object **ret) {
        json_object *question = json_object_new_object(), *names;

        if (!question || json_set_string(question, "folder", DNF_INSIDE "/repositories") < 0 ||
                        json_add_array(question, "repositories", &names) < 0) {
                json_object_put(question);
                return log_oom();
        }
        for (size_t i = 0; i < d->n_repositories; i++)
                if (json_append(names, json_object_new_string(
                                                       d->repositories[i].repository->name)) < 0) {
                        json_object_put(question);
                        return log_oom();
                }
        return dnf_ask(d, d->recipe->path, "records", question, ret);
}

/* Nobody may have signed it, and a lock of a day to come would keep all later indexes out. */
static int check_time(const DnfRepository *q, int64_t time_sec) {
        char text[32] = "a day that no calendar has";
        struct tm tm;

        if (time_sec <= (int64_t) time(NULL) + DAY_SEC)
                return 0;
        if (gmtime_r(&(time_t) { time_sec }, &tm))
                strftime(text, sizeof(text), "%F %H:%M UTC", &tm);
        return log_error_return(-EBADMSG,
                        "Repository %s: its index is of %s, which has not come: is the clock of this machine right? If it is, the mirror is not",
                        q->repository->name, text);
}

int dnf_update(Dnf *d, int64_t *ret_epoch) {
        _cleanup_json_ json_object *answer = NULL;
        int64_t newest = 0;
        int r;

        for (size_t i = 0; i < d->n_repositories; i++) {
                r = fetch_index(d, d->repositories + i);
                if (r < 0)
                        return r;
        }
        r = ask_records(d, &answer);
        if (r < 0)
                return r;
        for (size_t i = 0; i < d->n_repositories; i++) {
                const DnfRepository *q = d->repositories + i;
                json_object *o = json_get(json_get(answer, "repositories"), q->repository->name);

                int64_t time_sec = json_get_int(o, "time", 0);

                r = check_time(q, time_sec);
                if (r < 0)
                        return r;
                r = fetch_records(d, q, json_get(o, "records"));
                if (r < 0)
                        return r;
                if (q->enabled)
                        newest = MAX(newest, time_sec);
        }
        if (newest <= 0)
                return log_error_return(
                                -EBADMSG, "The indexes of the recipe's repositories have no date");
        *ret_epoch = newest;
        return 0;
}

int dnf_origins(const Dnf *d, const Lock *old, Lock *l) {
        for (size_t i = 0; i < d->n_repositories; i++) {
                const DnfRepository *q = d->repositories + i;
                const LockedOrigin *before = lock_find_origin(old, q->repository->name);
                _cleanup_free_ char *key = NULL;
                LockedOrigin o = {
                        .name = q->repository->name,
                        .uri = q->repository->uri,
                        .fingerprint = q->repository->fingerprint,
                };
                int r = key_to_text(q->keyring, &key);

                if (r < 0)
                        return log_error_errno(
                                        r, "The key of repository %s cannot be read", o.name);
                /* Vendors sign their keys anew now and then: that alone moves nothing. */
                o.key = before && streq_ptr(before->fingerprint, o.fingerprint) ? before->key : key;
                if (lock_add_origin(l, &o) < 0)
                        return log_oom();
        }
        return 0;
}
