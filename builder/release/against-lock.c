/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The manifest against a lock: both are written down as a list of lines, one a vendor's image,
 * package, artifact or wheel, and the lists are the same or are not. */

#include "release/internal.h"

#include "lock/lock.h"
#include "shared/log.h"

#define SHOWN 10

/* "package", "base", "libc6", "2.41-12", "amd64", "DIGEST" in one line; what is not there is
 * empty. */
static int add_line(char ***lines, char *const *words) {
        char *line = strv_join(words, " ");

        return line ? strv_push(lines, line) : -ENOMEM;
}

static int lock_lines(const Lock *l, char ***ret) {
        int r = 0;

        if (l->image.name)
                r = add_line(ret, ARGV("image", l->image.name, l->image.sha256));
        for (size_t i = 0; i < l->n_stages && r == 0; i++)
                for (size_t j = 0; j < l->stages[i].n_packages && r == 0; j++) {
                        const LockedPackage *p = l->stages[i].packages + j;
                        r = add_line(ret, ARGV("package", l->stages[i].id, p->name, p->version,
                                                          p->arch, p->sha256));
                }
        for (size_t i = 0; i < l->n_artifacts && r == 0; i++) {
                const LockedArtifact *a = l->artifacts + i;
                r = add_line(ret, ARGV("artifact", a->overlay, a->name, strempty(a->version),
                                                  a->url, a->sha256));
        }
        for (size_t i = 0; i < l->n_environments && r == 0; i++)
                for (size_t j = 0; j < l->environments[i].n_wheels && r == 0; j++) {
                        const LockedWheel *w = l->environments[i].wheels + j;
                        r = add_line(ret, ARGV("wheel", l->environments[i].path, w->name,
                                                          w->version, w->file, w->sha256));
                }
        return r;
}

/* The same of an array of the manifest's, its keys in the order of the words above. */
static int array_lines(json_object *m, const char *array, char *const *head_and_keys, char ***ret) {
        json_object *list = json_get(m, array);
        size_t n = json_array_length(list);

        for (size_t i = 0; i < n; i++) {
                json_object *o = json_object_array_get_idx(list, i);
                _cleanup_strv_free_ char **words = NULL;
                int r;

                if (strv_extend(&words, head_and_keys[0]) < 0)
                        return -ENOMEM;
                STRV_FOREACH (key, head_and_keys + 1)
                        if (strv_extend(&words, strempty(json_get_string(o, *key))) < 0)
                                return -ENOMEM;
                r = add_line(ret, words);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int manifest_lines(json_object *m, char ***ret) {
        char *const *package = ARGV("package", "stage", "name", "version", "arch", "sha256");
        json_object *base = json_get(m, "base_made_with");
        const char *image = json_get_string(base, "image");
        int r;

        if (image && add_line(ret, ARGV("image", image,
                                                   strempty(json_get_string(base, "sha256")))) < 0)
                return -ENOMEM;

        r = array_lines(m, "packages", package, ret);
        if (r < 0)
                return r;
        r = array_lines(m, "build_packages", package, ret);
        if (r < 0)
                return r;
        r = array_lines(m, "artifacts",
                        ARGV("artifact", "overlay", "name", "version", "url", "sha256"), ret);
        if (r < 0)
                return r;
        return array_lines(m, "python",
                        ARGV("wheel", "environment", "name", "version", "file", "sha256"), ret);
}

static void compare(Release *r, char *const *lock, char *const *manifest, const char *path) {
        size_t shown = 0, more = 0;

        while ((lock && *lock) || (manifest && *manifest)) {
                int c = !lock || !*lock           ? 1
                        : !manifest || !*manifest ? -1
                                                  : strcmp(*lock, *manifest);

                if (c != 0 && shown++ >= SHOWN)
                        more++;
                else if (c < 0)
                        release_fault(r, MANIFEST " lacks what %s has: %s", path, *lock);
                else if (c > 0)
                        release_fault(r, MANIFEST " has what %s has not: %s", path, *manifest);
                if (c <= 0)
                        lock++;
                if (c >= 0)
                        manifest++;
        }
        if (more > 0)
                release_fault(r, MANIFEST ": %zu more differences from %s", more, path);
}

int release_check_lock(Release *r, const char *path) {
        _cleanup_strv_free_ char **in_lock = NULL, **in_manifest = NULL;
        _cleanup_lock_free_ Lock *lock = NULL;
        int k;

        k = lock_read(path, &lock);
        if (k == -ENOENT)
                log_error_errno(k, "%s: cannot read the lock", path);
        if (k < 0)
                return k == -ENOENT ? -EINVAL : k;
        if (!streq_ptr(lock->recipe, json_get_string(r->manifest, "name")))
                release_fault(r, MANIFEST " is of %s, and %s of %s",
                                json_get_string(r->manifest, "name"), path, lock->recipe);
        if (lock->epoch != json_get_int(r->manifest, "epoch", -1))
                release_fault(r, MANIFEST " and %s have different epochs", path);

        if (lock_lines(lock, &in_lock) < 0 || manifest_lines(r->manifest, &in_manifest) < 0)
                return log_oom();
        strv_sort(in_lock);
        strv_sort(in_manifest);
        compare(r, in_lock, in_manifest, path);
        return 0;
}
