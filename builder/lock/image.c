/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A base image into the lock: its digest, and what is found in it. What follows from it (which
 * archives packages come from, what is installed already) the recipe and apt are told here. */

#include "appliance/appliance.h"
#include "recipe/recipe.h"
#include "lock/image-signature.h"
#include "lock/resolution.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "store/fetch.h"
#include "store/verify.h"

#include <fcntl.h>
#include <sys/stat.h>

static bool moves(const ResolveOptions *o) {
        return o->update && (!o->names || strv_contains(o->names, "image"));
}

static bool is_locked(const Resolution *x, const Recipe *recipe, const LockedImage *before) {
        return before->name && streq(before->name, recipe_image_name(recipe)) &&
               streq_ptr(before->root, recipe->base.root) &&
               streq_ptr(before->signed_by, recipe->base.signature.fingerprint) &&
               (recipe->base.sha256 ? streq(before->sha256, recipe->base.sha256)
                                    : !moves(x->options));
}

static int log_other_content(const Recipe *recipe, const char *wanted, const char *is) {
        log_error("%s: $.base.sha256: %s has sha256 %s, the recipe says %s: it is another image, or was cut off on its way",
                        recipe->path, recipe->base.image, is, wanted);
        return -EBADMSG;
}

/* What a URL is to have: as the recipe says, or as it is locked, whatever else is asked of it
 * now. */
static const char *pinned(const Resolution *x, const Recipe *recipe) {
        const LockedImage *before = x->old ? &x->old->image : NULL;

        if (recipe->base.sha256 || !before || moves(x->options))
                return recipe->base.sha256;
        return before->name && streq(before->name, recipe_image_name(recipe)) ? before->sha256
                                                                              : NULL;
}

static int fetch_url(const Resolution *x, const Recipe *recipe, Digest ret, uint64_t *ret_size) {
        _cleanup_free_ char *path = NULL,
                            *update = strf("imgbuild lock %s --update image", recipe->path);
        FetchItem item = { .url = recipe->base.image,
                .sha256 = pinned(x, recipe),
                .what = "the base image",
                .file = recipe->path };
        int r;

        if (!update)
                return log_oom();
        if (item.sha256)
                item.update = recipe->base.sha256 ? "change base.sha256 in the recipe" : update;
        progress_add(x->ctx->progress, "image");
        progress_set(x->ctx->progress, "image", PROGRESS_RUNNING);
        r = fetch_all(x->ctx, "image", &item, 1);
        progress_set(x->ctx->progress, "image", r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        if (r < 0)
                return r;
        snprintf(ret, sizeof(Digest), "%s", item.sha256 ? item.sha256 : item.result);
        path = store_blob_path(x->ctx->store, ret);
        return path ? digest_file(path, ret, ret_size) : log_oom();
}

static int log_not_locked(
                const Recipe *recipe, const char *path, const char *is, const char *locked) {
        log_error("%s has sha256 %s, and %s was locked: restore it, or 'imgbuild lock %s --update image' takes what is there now",
                        path, is, locked, recipe->path);
        return -ESTALE;
}

static int read_file_digest(
                const Resolution *x, const Recipe *recipe, Digest ret, uint64_t *ret_size) {
        const char *path = recipe->base.image, *wanted = pinned(x, recipe);
        struct stat st;
        int r;

        if (stat(path, &st) < 0) {
                log_error_errno(errno, "%s: $.base.image: cannot read %s", recipe->path, path);
                return -EINVAL;
        }
        if (!S_ISREG(st.st_mode))
                return log_error_return(
                                -EINVAL, "%s: $.base.image: %s is not a file", recipe->path, path);
        r = digest_file(path, ret, ret_size);
        if (r < 0)
                return log_error_errno(r, "%s: $.base.image: cannot read %s", recipe->path, path);
        if (!wanted || streq(ret, wanted))
                return 0;
        return recipe->base.sha256 ? log_other_content(recipe, wanted, ret)
                                   : log_not_locked(recipe, path, ret, wanted);
}

int locked_image_path(Context *ctx, const Recipe *recipe, const LockedImage *image,
                struct stat *ret_st, char **ret) {
        bool url = recipe_image_is_url(recipe);
        _cleanup_free_ char *path = url ? store_blob_path(ctx->store, image->sha256)
                                        : strdup(recipe->base.image);
        Digest digest;
        int r;

        if (!path)
                return log_oom();
        if (stat(path, ret_st) < 0)
                return log_error_errno(
                                -errno, "%s: $.base.image: cannot read %s", recipe->path, path);
        r = digest_file(path, digest, NULL);
        if (r < 0)
                return log_error_errno(r, "%s: $.base.image: cannot read %s", recipe->path, path);
        if (!streq(digest, image->sha256))
                return log_not_locked(recipe, path, digest, image->sha256);
        *ret = TAKE_PTR(path);
        return 0;
}

/* In the store by its digest, as packages are: resolving again needs no appliance. */
static int keep_packages(const Resolution *x, const ImageFacts *f, Digest ret) {
        _cleanup_free_ char *folder = NULL, *path = NULL;
        int r;

        r = store_scratch(x->ctx->store, "status", &folder);
        if (r < 0)
                return r;
        path = path_join(folder, "status");
        if (!path)
                return -ENOMEM;
        r = write_file_atomic(path, f->packages, f->packages_size, 0644);
        return r < 0 ? r : store_add_blob(x->ctx->store, path, NULL, ret);
}

/* The recipe may have changed since the image was looked at. */
static int require_family(const Recipe *recipe, const char *distro, const char *release) {
        Family family;

        if (!distro_family(distro, &family))
                return log_error_return(-EINVAL,
                                "%s: $.base.image: %s is %s %s; only images of Debian, Ubuntu, Oracle Linux, RHEL, Rocky Linux and AlmaLinux can be built on",
                                recipe->path, recipe->base.image, distro, release);
        if (family == FAMILY_EL && recipe->family != FAMILY_EL)
                return log_error_return(-EINVAL,
                                "%s: $.base.repositories: missing: %s is %s %s, and no recipe knows where that has its packages from",
                                recipe->path, recipe->base.image, distro, release);
        if (family != FAMILY_EL && recipe->family == FAMILY_EL)
                return log_error_return(-EINVAL,
                                "%s: $.base.repositories: is for oracle, rhel, rocky and alma: %s is %s %s, whose archives are known",
                                recipe->path, recipe->base.image, distro, release);
        return 0;
}

static int require_usable(const Recipe *recipe, const ImageFacts *f) {
        int r = require_family(recipe, f->distro, f->release);

        if (r < 0)
                return r;
        if (!streq_ptr(f->arch, "x86_64"))
                return log_error_return(-EINVAL,
                                "%s: $.base.image: %s is for %s, the recipe for %s", recipe->path,
                                recipe->base.image, strempty(f->arch), recipe->base.arch);
        if (!f->packages)
                return log_error_return(-EINVAL,
                                "%s: $.base.image: %s has no %s: nothing could be installed on it",
                                recipe->path, recipe->base.image,
                                f->el ? "rpmdb.sqlite, nor /var/lib/rpm/Packages as release 8 has it"
                                      : "/var/lib/dpkg/status");
        if (!lock_name_valid(f->distro) || !lock_name_valid(f->release) ||
                        (f->kernel && !lock_name_valid(f->kernel)))
                return log_error_return(-EINVAL,
                                "%s: $.base.image: %s calls itself or its kernel by a name that is none",
                                recipe->path, recipe->base.image);
        if (recipe->kind == RECIPE_DISK && !recipe->kernel.package && !f->kernel)
                return log_error_return(-EINVAL,
                                "%s: $.base.image: %s has no kernel in /boot with its modules: name one in kernel.package",
                                recipe->path, recipe->base.image);
        return 0;
}

static int read_facts(
                const Resolution *x, const Recipe *recipe, const char *path, ImageFacts *ret) {
        const char *format;
        int r;

        /* All of these are told: the recipe names what cannot be a base. */
        r = image_format_log(path, &format);
        if (r < 0)
                return -EINVAL;
        r = image_require_whole(path, format);
        if (r < 0)
                return r == -EPERM ? -EINVAL : r;
        progress_detail(x->ctx->progress, "image", "its system");
        r = image_facts(path, format, recipe->base.root, ret);
        return r < 0 ? r : require_usable(recipe, ret);
}

static int take_facts(Resolution *x, const Recipe *recipe, const char *sha256, uint64_t size) {
        _cleanup_image_facts_ ImageFacts f = {};
        _cleanup_lock_free_ Lock *holder = NULL;
        _cleanup_free_ char *path = NULL;
        struct stat st;
        Digest status;
        int r;

        r = locked_image_path(
                        x->ctx, recipe, &(LockedImage) { .sha256 = (char *) sha256 }, &st, &path);
        if (r < 0)
                return r;
        r = read_facts(x, recipe, path, &f);
        if (r < 0)
                return r;
        r = keep_packages(x, &f, status);
        if (r < 0)
                return log_error_errno(
                                r, "Cannot write in the store %s", store_path(x->ctx->store));
        if (lock_new(recipe->name, &holder) < 0 ||
                        lock_set_image(holder,
                                        &(LockedImage) {
                                                        .name = (char *) recipe_image_name(recipe),
                                                        .root = recipe->base.root,
                                                        .signed_by = recipe->base.signature
                                                                        .fingerprint,
                                                        .sha256 = (char *) sha256,
                                                        .size = size,
                                                        .distro = f.distro,
                                                        .release = f.release,
                                                        .kernel = f.kernel,
                                                        .status = status,
                                                        .newest = f.newest,
                                        }) < 0)
                return log_oom();
        x->image = holder->image;
        holder->image = (LockedImage) {};
        return 0;
}

/* Before anything looks into it. */
static int check_signature(const Resolution *x, const Recipe *recipe, const Digest digest) {
        _cleanup_free_ char *path = recipe_image_is_url(recipe)
                                                    ? store_blob_path(x->ctx->store, digest)
                                                    : strdup(recipe->base.image);

        return path ? image_signature_check(x->ctx, recipe, path, digest) : log_oom();
}

/* A digest that was looked at before says all. */
static int find_anew(Resolution *x, const Recipe *recipe) {
        const LockedImage *before = x->old ? &x->old->image : NULL;
        Digest digest;
        uint64_t size = 0;
        int r;

        r = recipe_image_is_url(recipe) ? fetch_url(x, recipe, digest, &size)
                                        : read_file_digest(x, recipe, digest, &size);
        if (r < 0)
                return r;
        r = check_signature(x, recipe, digest);
        if (r < 0)
                return r;
        if (before && streq_ptr(before->sha256, digest) &&
                        streq_ptr(before->root, recipe->base.root)) {
                LockedImage same = *before;
                _cleanup_lock_free_ Lock *holder = NULL;

                same.name = (char *) recipe_image_name(recipe);
                same.signed_by = recipe->base.signature.fingerprint;
                if (lock_new(recipe->name, &holder) < 0 || lock_set_image(holder, &same) < 0)
                        return log_oom();
                x->image = holder->image;
                holder->image = (LockedImage) {};
                return 0;
        }
        return take_facts(x, recipe, digest, size);
}

static int set_text(char **to, const char *from) {
        char *copy = strdup(from);

        if (!copy)
                return log_oom();
        free(*to);
        *to = copy;
        return 0;
}

int resolution_image(Resolution *x, Recipe *recipe) {
        const LockedImage *before = x->old ? &x->old->image : NULL;
        bool same = before && is_locked(x, recipe, before);
        int r;

        if (!same && x->ctx->locked)
                return resolution_refuse_change(x,
                                x->old ? "does not lock the recipe's base image" : "is not there");
        if (same) {
                Lock copy = {};

                r = lock_set_image(&copy, before);
                x->image = copy.image;
                if (r < 0)
                        return log_oom();
        } else {
                r = find_anew(x, recipe);
                if (r < 0)
                        return r;
        }

        r = require_family(recipe, x->image.distro, x->image.release);
        if (r < 0)
                return r;
        r = set_text(&recipe->base.distro, x->image.distro);
        if (r < 0)
                return r;
        r = set_text(&recipe->base.release, x->image.release);
        if (r < 0)
                return r;
        if (recipe_expand_release(recipe) < 0)
                return log_oom();
        r = set_text(&recipe->base.sha256, x->image.sha256);
        return r < 0 ? r : !same;
}

/* A lock comes to a host whose store has never seen the image. */
static int read_packages_anew(const Resolution *x) {
        _cleanup_image_facts_ ImageFacts f = {};
        _cleanup_free_ char *path = NULL;
        uint64_t size;
        struct stat st;
        Digest digest;
        int r;

        if (recipe_image_is_url(x->recipe)) {
                r = fetch_url(x, x->recipe, digest, &size);
                if (r < 0)
                        return r;
        }
        r = locked_image_path(x->ctx, x->recipe, &x->image, &st, &path);
        if (r < 0)
                return r;
        r = read_facts(x, x->recipe, path, &f);
        if (r < 0)
                return r;
        r = keep_packages(x, &f, digest);
        if (r < 0)
                return log_error_errno(
                                r, "Cannot write in the store %s", store_path(x->ctx->store));
        if (!streq(digest, x->image.status))
                return log_error_return(-EINVAL,
                                "%s: $.image: \"status\" is not that of the image: restore the lock from git, or remove it and 'imgbuild lock %s' makes a new one",
                                x->recipe->lock_path, x->recipe->path);
        return 0;
}

int resolution_image_packages(const Resolution *x, char **ret_path) {
        int r = store_check_blob(x->ctx->store, x->image.status) > 0 ? 0 : read_packages_anew(x);

        if (r < 0)
                return r;
        *ret_path = store_blob_path(x->ctx->store, x->image.status);
        return *ret_path ? 0 : log_oom();
}
