/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether layers and blobs are still what was put in: disks rot, and people edit. A layer's digest
 * lies in its meta.json; that of a blob is its name. A layer is looked at when it is first used
 * after a start of the host (its file `verified` says in which it was), a blob whenever a stage is
 * made of it. What is damaged is set aside in damaged/, and so is made, or fetched, again. */

#include "store/verify.h"
#include "store/contents.h"
#include "store/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/stat.h>

/* In place of what was set aside under that name before. */
static int set_aside(Store *s, const char *path) {
        _cleanup_free_ char *damaged = path_join(s->path, "damaged"),
                            *target = damaged ? path_join(damaged, path_basename(path)) : NULL;
        int r;

        if (!target)
                return -ENOMEM;
        r = mkdir_p(damaged, 0700);
        if (r < 0)
                return r;
        r = rm_rf(target);
        if (r < 0)
                return r;
        return rename(path, target) < 0 && errno != ENOENT ? -errno : 0;
}

/* 1 whole; 0 not; -ENODATA where nothing is there to compare with. */
static int compare_layer(Store *s, const char *digest) {
        _cleanup_free_ char *tree = store_layer_path(s, digest, "tree");
        _cleanup_json_ json_object *meta = NULL;
        const char *expected;
        Digest found;
        int r;

        if (!tree)
                return -ENOMEM;
        r = store_read_layer_meta(s, digest, &meta);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return 0;
        expected = json_get_string(meta, "tree_sha256");
        if (!expected)
                return -ENODATA;
        r = layer_digest(tree, found);
        if (r == -EIO || r == -ENOENT || r == -EUCLEAN) /* the disk cannot read it */
                return 0;
        return r < 0 ? r : streq(found, expected);
}

static int layer_damaged(Store *s, const char *digest, const char *path) {
        _cleanup_json_ json_object *meta = NULL;
        int r;

        (void) store_read_layer_meta(s, digest, &meta);
        r = set_aside(s, path);
        layer_release(s, digest);
        if (r < 0)
                return log_error_errno(
                                r, "%s: is damaged and cannot be set aside; remove it", path);
        log_warning("Layer %.12s (%s of %s) is not what it was when it was made: is the disk failing, or was it edited? It is set aside in %s/damaged and made again when it is needed",
                        digest, strempty(json_get_string(meta, "stage")),
                        strempty(json_get_string(meta, "recipe")), s->path);
        return 0;
}

/* Of an imgbuild before 0.2, which kept no digest: from now on it has that of what is there. */
static int adopt_layer(Store *s, const char *digest, const char *path) {
        _cleanup_free_ char *tree = store_layer_path(s, digest, "tree"),
                            *meta_path = store_layer_path(s, digest, "meta.json");
        _cleanup_json_ json_object *meta = NULL;
        struct stat st;
        Digest found;
        int r;

        if (!tree || !meta_path)
                return -ENOMEM;
        r = store_read_layer_meta(s, digest, &meta);
        if (r < 0)
                return r;
        r = layer_digest(tree, found);
        if (r < 0)
                return r;
        r = json_set_string(meta, "tree_sha256", found);
        if (r < 0)
                return r;
        if (stat(path, &st) < 0)
                return -errno;
        r = json_save(meta_path, meta, 0644);
        if (r < 0)
                return r;
        /* The folder's time says when the layer was last used. */
        return utimensat(AT_FDCWD, path, (const struct timespec[]) { st.st_atim, st.st_mtim }, 0) <
                                               0
                               ? -errno
                               : 0;
}

/* `again`: although it was looked at since the host started. */
static int check_layer(Store *s, const char *digest, bool again) {
        _cleanup_free_ char *path = store_layer_path(s, digest, NULL),
                            *meta = store_layer_path(s, digest, "meta.json");
        int r;

        if (!path || !meta)
                return -ENOMEM;
        if (access(meta, F_OK) < 0)
                return -ENOENT;
        if (!again && layer_is_verified(path))
                return 1;
        r = layer_hold(s, digest);
        if (r < 0)
                return r;
        r = compare_layer(s, digest);
        if (r == 0)
                return layer_damaged(s, digest, path);
        if (r == -ENODATA && adopt_layer(s, digest, path) < 0)
                return r; /* the next look tries again */
        if (r > 0 || r == -ENODATA)
                (void) layer_mark_verified(path);
        return r;
}

/* One that had nothing to be held against until now counts as whole. */
int store_check_layer(Store *s, const char *digest) {
        int r = check_layer(s, digest, false);

        return r == -ENODATA ? 1 : r;
}

int store_check_layer_again(Store *s, const char *digest) {
        int r = check_layer(s, digest, true);

        return r == -ENODATA ? 1 : r;
}

int store_check_blob(Store *s, const char *sha256) {
        _cleanup_free_ char *path = store_blob_path(s, sha256);
        Digest found;
        int r;

        if (!path)
                return -ENOMEM;
        if (!store_has_blob(s, sha256))
                return -ENOENT;
        r = digest_file(path, found, NULL);
        if (r < 0 && r != -EIO && r != -EUCLEAN)
                return r;
        if (r >= 0 && streq(found, sha256))
                return 1;

        r = set_aside(s, path);
        if (r < 0)
                return log_error_errno(
                                r, "%s: is damaged and cannot be set aside; remove it", path);
        log_warning("Download %.12s is not what it was when it came: is the disk failing, or was it edited? It is set aside in %s/damaged and fetched again when it is needed",
                        sha256, s->path);
        return 0;
}

static int verify_entry(Store *s, const StoreEntry *e, StoreVerdict *v) {
        int r = e->blob ? store_check_blob(s, e->digest) : check_layer(s, e->digest, true);

        if (r == -ENOENT) /* pruned meanwhile */
                return 0;
        if (r == -ENODATA) {
                v->unknown++;
                return 0;
        }
        if (r < 0)
                return log_error_errno(r, "%s %.12s cannot be checked",
                                e->blob ? "Download" : "Layer", e->digest);
        v->bytes += e->bytes;
        if (r == 0)
                v->damaged++;
        else if (e->blob)
                v->blobs++;
        else
                v->layers++;
        return 0;
}

int store_verify(Store *s, StoreVerdict *ret) {
        _cleanup_(entry_list_done) EntryList l = {};
        StoreVerdict v = {};
        int r;

        r = entry_list_fill(&l, s);
        if (r < 0)
                return log_error_errno(r, "Cannot read the store %s", s->path);
        for (size_t i = 0; i < l.n; i++) {
                r = verify_entry(s, l.entries + i, &v);
                if (r < 0)
                        return r;
        }
        *ret = v;
        return 0;
}
