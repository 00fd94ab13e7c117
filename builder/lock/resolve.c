/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which stages keep what is locked, which are asked anew, and what holds still meanwhile. A stage
 * is asked anew when its request changed, when something in it is to move, or when a stage before
 * it came out different. All versions that are locked and not to move are pinned then, so that
 * adding one package moves no other. */

#include "lock/python.h"

#define RESOLVER_FORMAT \
        "1" /* part of every request; raised when equal requests would be answered differently */

static void hash_repository(Hash *h, const Repository *repository) {
        hash_field(h, "repository", repository->name);
        hash_field(h, "uri", repository->uri);
        hash_field(h, "suite", repository->suite);
        hash_strv(h, "components", repository->components);
        hash_field(h, "fingerprint", repository->fingerprint);
        if (repository->modules)
                hash_strv(h, "modules", repository->modules);
}

int resolve_request_digests(
                const Recipe *recipe, const PackageRequest *requests, size_t n, Digest *ret) {
        const char *previous = NULL;

        for (size_t i = 0; i < n; i++) {
                const PackageRequest *q = requests + i;
                _cleanup_hash_free_ Hash *h = NULL;
                int r = hash_new(&h);

                if (r < 0)
                        return r;
                hash_field(h, "format", RESOLVER_FORMAT);
                hash_field(h, "previous", previous);
                if (!previous) {
                        hash_field(h, "distro", recipe->base.distro);
                        hash_field(h, "release", recipe->base.release);
                        hash_field(h, "arch", recipe->base.arch);
                        hash_strv(h, "components", recipe->base.components);
                        if (recipe->base.image)
                                hash_field(h, "image", recipe->base.sha256);
                        for (size_t k = 0; k < recipe->base.n_repositories; k++)
                                hash_repository(h, recipe->base.repositories + k);
                }
                hash_field(h, "id", q->id);
                hash_strv(h, "packages", q->packages);
                if (q->without)
                        hash_strv(h, "without", q->without);
                for (size_t k = 0; q->overlay && k < q->overlay->n_repositories; k++)
                        hash_repository(h, q->overlay->repositories + k);
                hash_end(h, ret[i]);
                if (!q->throwaway)
                        previous = ret[i];
        }
        return 0;
}

static int same_text(const Lock *a, const Lock *b) {
        _cleanup_free_ char *x = NULL, *y = NULL;

        if (!a)
                return 0;
        if (lock_to_text(a, &x) < 0 || lock_to_text(b, &y) < 0)
                return log_oom();
        return streq(x, y);
}

/* Whether artifacts depend on packages, so that new ones must be looked at together with these. */
static bool brings_packages(const Recipe *recipe) {
        for (size_t i = 0; i < recipe->n_overlays; i++)
                for (size_t k = 0; k < recipe->overlays[i]->n_artifacts; k++)
                        if (recipe->overlays[i]->artifacts[k].kind == INSTALL_PACKAGE)
                                return true;
        return false;
}

/* What is found after half a minute must have a place. */
static int check_target(const char *path) {
        int r = path ? lock_probe(path) : 0;

        return r < 0 ? log_error_errno(r,
                                       "%s: the lock cannot be written there; make its folder writable, or use a copy of the recipe in one of your own",
                                       path)
                     : 0;
}

static int fill_lock(const Resolution *x, Lock *l, bool packages, bool artifacts) {
        int r = resolve_artifacts(x->ctx, x->recipe, x->old, x->options, l);

        if (r < 0)
                return r;
        r = packages || (artifacts && brings_packages(x->recipe)) ? resolution_solve(x, l)
                                                                  : resolution_keep_stages(x, l);
        if (r < 0)
                return r;
        r = resolve_environments(x, l); /* the packages say for which Python */
        return MIN(r, 0);
}

static int run(Resolution *x, Lock **ret) {
        _cleanup_lock_free_ Lock *l = NULL;
        Progress *progress = x->ctx->progress;
        int packages, artifacts, wheels, r;
        bool asks;

        r = resolution_find_moving(x);
        if (r < 0)
                return r;
        if (lock_new(x->recipe->name, &l) < 0 ||
                        (x->image.name && lock_set_image(l, &x->image) < 0))
                return log_oom();
        if (x->old && !resolution_updates_all(x)) {
                r = lock_verify(x->recipe, x->requests, x->digests, x->n, x->old);
                if (r < 0)
                        return r;
        }

        packages = resolution_wants_packages(x);
        if (packages < 0)
                return log_oom();
        artifacts = resolve_artifacts(x->ctx, x->recipe, x->old, x->options, NULL);
        if (artifacts < 0)
                return artifacts;
        wheels = resolve_environments(x, NULL);
        if (wheels < 0)
                return wheels;
        asks = packages || artifacts || wheels;

        if (x->ctx->locked && asks)
                return resolution_refuse_change(
                                x, x->old ? "does not lock all that the recipe asks for"
                                          : "is not there");
        if (x->ctx->offline && asks) {
                log_error("%s %s%s, and with --offline nothing is looked up: run 'imgbuild lock %s' once without it",
                                x->recipe->lock_path,
                                x->old ? "does not lock all that the recipe asks for"
                                       : "is not there yet",
                                x->old && x->options->update ? ", or is to be moved" : "",
                                x->recipe->path);
                return -ENETUNREACH;
        }
        if (asks) {
                r = check_target(x->options->target);
                if (r < 0)
                        return r;
                progress_add(progress, "resolve");
                progress_set(progress, "resolve", PROGRESS_RUNNING);
        }

        r = fill_lock(x, l, packages, artifacts);
        if (asks)
                progress_set(progress, "resolve", r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        if (r < 0)
                return r;
        r = lock_verify(x->recipe, x->requests, x->digests, x->n, l);
        if (r < 0)
                return r;

        lock_sort(l);
        r = same_text(x->old, l);
        if (r < 0)
                return r;
        if (r == 0 && x->ctx->locked)
                return resolution_refuse_change(x, "locks what the recipe does not ask for");
        *ret = TAKE_PTR(l);
        return r ? 0 : 1;
}

int resolve(Context *ctx, Recipe *recipe, const Lock *old, const ResolveOptions *options,
                Lock **ret) {
        Resolution x = { .ctx = ctx, .recipe = recipe, .old = old, .options = options };
        int r;

        if (recipe->base.image) {
                r = resolution_image(&x, recipe);
                if (r < 0) {
                        locked_image_done(&x.image);
                        return r;
                }
        }
        r = lock_package_requests(recipe, &x.requests, &x.n);
        if (r < 0) {
                locked_image_done(&x.image);
                return log_oom();
        }
        x.digests = calloc(x.n, sizeof(Digest));
        r = x.digests ? resolve_request_digests(recipe, x.requests, x.n, x.digests) : -ENOMEM;
        r = r < 0 ? log_oom() : run(&x, ret);
        package_requests_free(x.requests, x.n);
        free(x.digests);
        strv_free(x.moving);
        locked_image_done(&x.image);
        return r;
}
