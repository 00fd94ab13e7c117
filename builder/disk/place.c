/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How a draft becomes OUT/NAME. What the manifest of the image before names goes; whatever else
 * lies in its folder (notes, saved boots, exported disks, seeds) is the admin's and moves to the
 * new one.
 *
 *   one step     .new ⇄ NAME, .new → .old               a file system with RENAME_EXCHANGE
 *   two steps    NAME → .old, .new → NAME               NFS and others: NAME is gone for a moment
 *   then         foreign files .old → NAME, .old removed
 *
 * After a kill the names that are there tell how far it came: a .new with a manifest is whole, and
 * a .old is never anything but an image before. */

#include "disk/place.h"
#include "disk/internal.h"
#include "release/release.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/json-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/stat.h>

#define MANIFEST_MAX (64 * 1024 * 1024)
#define KEPT_MAX 1000

int place_open(const char *out, const char *name, Place *ret) {
        Place p = {
                .name = strdup(name),
                .out = strdup(out),
                .folder = path_join(out, name),
                .draft = strf("%s/.%s.new", out, name),
                .old = strf("%s/.%s.old", out, name),
        };

        if (!p.name || !p.out || !p.folder || !p.draft || !p.old) {
                place_done(&p);
                return log_oom();
        }
        *ret = p;
        return 0;
}

void place_done(Place *p) {
        free(p->name);
        free(p->out);
        free(p->folder);
        free(p->draft);
        free(p->old);
        *p = (Place) {};
}

static bool exists(const char *path) {
        struct stat st;

        return lstat(path, &st) >= 0;
}

bool place_unsettled(const Place *p) {
        return exists(p->draft) || exists(p->old);
}

/* --- what is ours in a folder ----------------------------------------------------------------- */

/* The names that a build wrote in `folder`, by its manifest, the manifest last. 1; 0 where there is
 * no manifest of this image; -ENOMEM. */
static int read_own(const Place *p, const char *folder, char ***ret) {
        _cleanup_strv_free_ char **own = NULL;
        _cleanup_json_ json_object *manifest = NULL;
        json_object *files;
        int r;

        r = folder_load_json(folder, "manifest.json", MANIFEST_MAX, &manifest);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        files = json_get(manifest, "files");
        if (!streq_ptr(json_get_string(manifest, "name"), p->name) ||
                        !json_get_string(manifest, "identity") ||
                        !json_object_is_type(files, json_type_array))
                return 0;

        for (size_t i = 0; i < json_object_array_length(files); i++) {
                json_object *file = json_object_array_get_idx(files, i);
                const char *name = json_get_string(file, "name");

                if (isempty(name) || strchr(name, '/') || streq(name, "manifest.json"))
                        continue;
                r = strv_extend(&own, name);
                if (r < 0)
                        return r;
        }
        r = strv_extend_many(&own, RELEASE_NAMES, "SHA256SUMS", "manifest.json", NULL);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(own);
        return 1;
}

static int is_image(const Place *p, const char *folder) {
        _cleanup_strv_free_ char **own = NULL;

        return read_own(p, folder, &own);
}

/* --- carrying over ---------------------------------------------------------------------------- */

/* NFS knows no RENAME_NOREPLACE; nobody but us moves things in under the lock. */
static int move_without_replacing(const char *from, const char *to) {
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) >= 0)
                return 0;
        if (errno != EINVAL && errno != ENOSYS)
                return -errno;
        if (exists(to))
                return -EEXIST;
        return rename(from, to) < 0 ? -errno : 0;
}

/* Under its name, or one that is free. */
static int carry(const Place *p, const char *name) {
        _cleanup_free_ char *from = path_join(p->old, name), *to = path_join(p->folder, name);
        int r;

        if (!from || !to)
                return -ENOMEM;
        r = move_without_replacing(from, to);
        for (unsigned n = 1; r == -EEXIST && n <= KEPT_MAX; n++) {
                _cleanup_free_ char *other = strf("%s.kept-%u", to, n);

                if (!other)
                        return -ENOMEM;
                r = move_without_replacing(from, other);
                if (r >= 0)
                        log_warning("%s was in the way of the new image's file: it is %s now", to,
                                        other);
        }
        return r;
}

/* A folder is never ours, whatever the manifest calls so. */
static bool is_own(char *const *own, const char *folder, const char *name) {
        _cleanup_free_ char *path = path_join(folder, name);
        struct stat st;

        return strv_contains(own, name) && path && lstat(path, &st) >= 0 && !S_ISDIR(st.st_mode);
}

/* Names first: a folder that changes while it is read may show a name twice or not at all. */
static int list_foreign(const char *folder, char *const *own, char ***ret) {
        _cleanup_strv_free_ char **foreign = NULL;
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_open(folder, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                if (is_own(own, folder, name))
                        continue;
                r = strv_extend(&foreign, name);
                if (r < 0)
                        return r;
        }
        strv_sort(foreign);
        *ret = TAKE_PTR(foreign);
        return 0;
}

static int remove_own(const char *folder, char *const *own) {
        STRV_FOREACH (name, own) {
                _cleanup_free_ char *path = path_join(folder, *name);

                if (!path)
                        return -ENOMEM;
                if (unlink(path) < 0 && errno != ENOENT)
                        return -errno;
        }
        return rmdir(folder) < 0 ? -errno : 0;
}

/* Empties and removes the old image's folder. Nothing that is not ours is ever removed. */
static int carry_over(const Place *p) {
        _cleanup_strv_free_ char **own = NULL, **foreign = NULL;
        int r;

        r = read_own(p, p->old, &own);
        if (r < 0)
                return r;
        r = list_foreign(p->old, own, &foreign);
        if (r < 0)
                return r;
        STRV_FOREACH (name, foreign) {
                r = carry(p, *name);
                if (r < 0)
                        return log_error_errno(r,
                                        "%s/%s cannot be moved to %s: move it, the next build removes the rest",
                                        p->old, *name, p->folder);
        }
        r = remove_own(p->old, own);
        if (r < 0)
                return log_error_errno(r,
                                "%s: cannot remove the image before; the next build tries again",
                                p->old);
        return 0;
}

/* --- settling --------------------------------------------------------------------------------- */

static int move(const char *from, const char *to) {
        return rename(from, to) < 0 ? log_error_errno(errno, "%s: cannot become %s", from, to) : 0;
}

/* Killed between the two steps: the new image was whole. */
static int bring_back(const Place *p) {
        int r = is_image(p, p->draft);

        if (r < 0)
                return log_oom();
        return move(r > 0 ? p->draft : p->old, p->folder);
}

/* What a killed probe() left. Another build's, at work, would only do with two steps. */
static int sweep_probes(const Place *p) {
        _cleanup_free_ char *prefix = strf(".%s.try-", p->name);
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        if (!prefix)
                return log_oom();
        r = folder_open(p->out, &d);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", p->out);
        FOLDER_FOREACH (name, d) {
                _cleanup_free_ char *path =
                                startswith(name, prefix) ? path_join(p->out, name) : NULL;

                if (path)
                        rm_rf(path);
        }
        return 0;
}

/* Somebody else's: through a link we would move and remove what lies elsewhere. */
static int require_own_old(const Place *p) {
        struct stat st;

        if (lstat(p->old, &st) < 0 || S_ISDIR(st.st_mode))
                return 0;
        return log_error_return(-EEXIST,
                        "%s is not a folder, and the image before is kept under that name: move it away",
                        p->old);
}

int place_settle(const Place *p) {
        int r;

        r = require_own_old(p);
        if (r < 0)
                return r;
        r = sweep_probes(p);
        if (r < 0)
                return r;
        if (!exists(p->folder) && exists(p->old)) {
                r = bring_back(p);
                if (r < 0)
                        return r;
        }
        if (exists(p->old)) {
                r = carry_over(p);
                if (r < 0)
                        return r;
        }

        r = is_image(p, p->draft);
        if (r < 0)
                return log_oom();
        if (r > 0 && exists(p->folder)) { /* either the image before, or one that was not put yet */
                r = move(p->draft, p->old);
                if (r < 0)
                        return r;
                return carry_over(p);
        }
        r = rm_rf(p->draft);
        if (r < 0)
                return log_error_errno(r, "%s: cannot remove what a killed build left", p->draft);
        return 0;
}

/* --- before the work -------------------------------------------------------------------------- */

static int check_kind(const Place *p) {
        struct stat st, out;

        if (lstat(p->folder, &st) < 0)
                return errno == ENOENT ? 0 : log_error_errno(errno, "%s: cannot see it", p->folder);
        if (!S_ISDIR(st.st_mode)) {
                log_error("%s is not a folder, and the image becomes one of that name: move it away, or name another place with --output",
                                p->folder);
                return -EEXIST;
        }
        if (stat(p->out, &out) >= 0 && out.st_dev != st.st_dev) {
                log_error("%s is a mount point and cannot be replaced: mount its file system on %s, or name another place with --output",
                                p->folder, p->out);
                return -EEXIST;
        }
        return 1;
}

static int check_content(const Place *p, char *const *files) {
        _cleanup_strv_free_ char **own = NULL, **foreign = NULL;
        int r;

        r = read_own(p, p->folder, &own);
        if (r < 0)
                return log_oom();
        r = list_foreign(p->folder, own, &foreign);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", p->folder);
        if (!own && foreign) {
                log_error("%s holds %s and no manifest.json of an image %s: a build replaces only its own images; move it away, or name another place with --output",
                                p->folder, foreign[0], p->name);
                return -EEXIST;
        }
        STRV_FOREACH (file, files)
                if (strv_contains(foreign, *file)) {
                        log_error("%s/%s is not from the last build, and this one makes a file of that name: move it away",
                                        p->folder, *file);
                        return -EEXIST;
                }
        return 0;
}

/* By trying: what a file system cannot do is seldom said. The names are no other build's. */
static int probe(Place *p) {
        _cleanup_free_ char *folder = strf("%s/.%s.try-XXXXXX", p->out, p->name), *a = NULL,
                            *b = NULL;
        int r = 0;

        if (!folder)
                return log_oom();
        if (!mkdtemp(folder))
                return log_error_errno(errno, "%s: cannot write there", p->out);
        a = path_join(folder, "a");
        b = path_join(folder, "b");
        if (!a || !b)
                r = log_oom();
        else if (mkdir(a, 0700) < 0 || mkdir(b, 0700) < 0)
                r = log_error_errno(errno, "%s: cannot write there", p->out);
        else
                p->one_step = renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) >= 0;
        rm_rf(folder);
        return r;
}

int place_check(Place *p, char *const *files) {
        int r;

        r = mkdir_p(p->out, 0755);
        if (r < 0)
                return log_error_errno(r, "%s: cannot create the output folder", p->out);
        r = check_kind(p);
        if (r < 0)
                return r;
        if (r > 0) {
                r = check_content(p, files);
                if (r < 0)
                        return r;
        }

        r = probe(p);
        if (r < 0)
                return r;
        if (!p->one_step)
                log_info("The file system of %s cannot exchange folders: %s will be replaced in two steps, which the next build finishes if this one is killed in between",
                                p->out, p->folder);
        return 0;
}

/* --- after it --------------------------------------------------------------------------------- */

static int replace_in_two_steps(const Place *p) {
        int r;

        r = move(p->folder, p->old);
        if (r < 0)
                return r;
        r = move(p->draft, p->folder);
        if (r < 0)
                (void) rename(p->old, p->folder);
        return r;
}

int place_put(const Place *p) {
        int r;

        if (rename(p->draft, p->folder) >= 0) /* there was nothing, or an empty folder */
                return 0;
        if (errno != EEXIST && errno != ENOTEMPTY)
                return log_error_errno(errno, "%s: cannot put the new image in place", p->folder);

        /* What has lost its manifest since the check must not be taken for a draft. */
        if (p->one_step && is_image(p, p->folder) > 0 &&
                        renameat2(AT_FDCWD, p->draft, AT_FDCWD, p->folder, RENAME_EXCHANGE) >= 0)
                r = move(p->draft, p->old);
        else
                r = replace_in_two_steps(p);
        if (r < 0)
                return r;

        (void) carry_over(p); /* the image is in place; what could not be moved was named */
        return 0;
}
