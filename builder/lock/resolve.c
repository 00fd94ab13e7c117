/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which stages keep what is locked, which are asked anew, and what holds still meanwhile. A stage
 * is asked anew when its request changed, when something in it is to move, or when a stage before
 * it came out different. All versions that are locked and not to move are pinned then, so that
 * adding one package moves no other. */

#include "lock/internal.h"
#include "lock/apt.h"

#define RESOLVER_FORMAT \
        "1" /* part of every request; raised when equal requests would be answered differently */

typedef struct Resolution {
        Context *ctx;
        const Recipe *recipe;
        const Lock *old;
        const ResolveOptions *options;
        PackageRequest *requests;
        size_t n;
        Digest *digests;
        char **moving; /* "ORIGIN:FOLDER" of source packages that --update NAME lets go */
} Resolution;

static bool updates_all(const Resolution *x) {
        return x->options->update && !x->options->names;
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
                }
                hash_field(h, "id", q->id);
                hash_strv(h, "packages", q->packages);
                if (q->without)
                        hash_strv(h, "without", q->without);
                for (size_t k = 0; q->overlay && k < q->overlay->n_repositories; k++) {
                        const Repository *repository = q->overlay->repositories + k;

                        hash_field(h, "repository", repository->name);
                        hash_field(h, "uri", repository->uri);
                        hash_field(h, "suite", repository->suite);
                        hash_strv(h, "components", repository->components);
                        hash_field(h, "fingerprint", repository->fingerprint);
                }
                hash_end(h, ret[i]);
                if (!q->throwaway)
                        previous = ret[i];
        }
        return 0;
}

/* Packages of one source lie in one folder of the pool, and often want each other's very
 * version. */
static char *source_of(const LockedPackage *p) {
        const char *slash = strrchr(p->path, '/');

        return slash ? strf("%s:%.*s", p->origin, (int) (slash - p->path), p->path)
                     : strf("%s:=%s", p->origin, p->name);
}

/* 1 when the package is to move, 0 when it is not. */
static int package_moves(const Resolution *x, const LockedPackage *p) {
        _cleanup_free_ char *source = NULL;

        if (!x->moving)
                return updates_all(x);
        source = source_of(p);
        return source ? strv_contains(x->moving, source) : -ENOMEM;
}

static bool name_is_known(const Resolution *x, const char *name) {
        for (size_t i = 0; i < x->n; i++)
                if (strv_contains(x->requests[i].packages, name))
                        return true;
        for (size_t i = 0; i < x->recipe->n_overlays; i++)
                for (size_t k = 0; k < x->recipe->overlays[i]->n_artifacts; k++)
                        if (streq(x->recipe->overlays[i]->artifacts[k].name, name))
                                return true;
        return false;
}

/* From names on the command line to source packages. */
static int find_moving(Resolution *x) {
        STRV_FOREACH (name, x->options->names) {
                bool known = name_is_known(x, *name);

                for (size_t i = 0; x->old && i < x->old->n_stages; i++)
                        for (size_t k = 0; k < x->old->stages[i].n_packages; k++) {
                                const LockedPackage *p = x->old->stages[i].packages + k;

                                if (!streq(p->name, *name))
                                        continue;
                                known = true;
                                if (strv_push(&x->moving, source_of(p)) < 0)
                                        return log_oom();
                        }
                if (!known) {
                        log_error("--update %s: neither a package nor an artifact that %s locks",
                                        *name, x->recipe->lock_path);
                        return -EINVAL;
                }
        }
        return 0;
}

/* Whether the lock answers request i as it stands, its predecessors aside. */
static int is_kept(const Resolution *x, size_t i) {
        const LockedStage *s = lock_find_stage(x->old, x->requests[i].id);

        if (!s || !streq(s->request, x->digests[i]) || updates_all(x))
                return 0;
        for (size_t k = 0; k < s->n_packages; k++) {
                int r = package_moves(x, s->packages + k);

                if (r != 0)
                        return r < 0 ? r : 0;
        }
        return 1;
}

static bool stages_equal(const LockedStage *a, const LockedStage *b) {
        if (a->n_packages != b->n_packages || !streq(a->request, b->request))
                return false;
        for (size_t i = 0; i < a->n_packages; i++)
                if (!streq(a->packages[i].name, b->packages[i].name) ||
                                !streq(a->packages[i].sha256, b->packages[i].sha256))
                        return false;
        return true;
}

static int copy_stage(const LockedStage *from, LockedStage *to) {
        for (size_t i = 0; i < from->n_packages; i++)
                if (locked_stage_add(to, from->packages + i) < 0)
                        return log_oom();
        return 0;
}

/* What is locked and not to move. A later stage's version of a package is the one the image ends
 * up with. */
static int pin_locked(const Resolution *x, Apt *apt) {
        _cleanup_strv_free_ char **seen = NULL;

        if (!x->old || updates_all(x))
                return 0;
        for (size_t i = x->old->n_stages; i-- > 0;)
                for (size_t k = 0; k < x->old->stages[i].n_packages; k++) {
                        const LockedPackage *p = x->old->stages[i].packages + k;
                        int moves = package_moves(x, p);

                        if (moves < 0)
                                return log_oom();
                        if (moves || strv_contains(seen, p->name))
                                continue;
                        if (strv_extend(&seen, p->name) < 0 || apt_pin(apt, p) < 0)
                                return log_oom();
                }
        return 0;
}

/* The names to ask apt for: the base's implied ones, and "${kernel}" replaced by the locked
 * kernel's release. */
static int expand(const Resolution *x, const PackageRequest *q, const Lock *l, char ***ret) {
        static const char variable[] = "${kernel}";
        _cleanup_strv_free_ char **names = NULL;
        const char *kernel = lock_kernel_release(l);

        /* What mmdebstrap installs for --variant=apt. */
        if (streq(q->id, "base") && strv_extend_many(&names, "?essential", "apt", NULL) < 0)
                return log_oom();
        STRV_FOREACH (p, q->packages) {
                const char *at = strstr(*p, variable);

                if (at && !kernel) {
                        log_error("Stage %s: \"%s\" needs a kernel, and %s", q->id, *p,
                                        x->recipe->kernel.package
                                                        ? "kernel.package brings no linux-image package"
                                                        : "the recipe has no kernel.package");
                        return -EINVAL;
                }
                if ((at ? strv_extendf(&names, "%.*s%s%s", (int) (at - *p), *p, kernel,
                                          at + strlen(variable))
                        : strv_extend(&names, *p)) < 0)
                        return log_oom();
        }
        *ret = TAKE_PTR(names);
        return 0;
}

/* Origins of a lock that needed no apt: the old one's, without repositories that no overlay brings
 * any more. */
static int keep_origins(const Resolution *x, Lock *l) {
        for (size_t i = 0; x->old && i < x->old->n_origins; i++) {
                const LockedOrigin *o = x->old->origins + i;
                bool wanted = !o->uri;

                for (size_t k = 0; k < x->recipe->n_overlays && !wanted; k++)
                        for (size_t m = 0; m < x->recipe->overlays[k]->n_repositories; m++)
                                wanted = wanted ||
                                         streq(x->recipe->overlays[k]->repositories[m].name,
                                                         o->name);
                if (wanted && lock_add_origin(l, o) < 0)
                        return log_oom();
        }
        return 0;
}

static int keep_stages(const Resolution *x, Lock *l) {
        l->epoch = x->old ? x->old->epoch : 0;
        for (size_t i = 0; i < x->n; i++) {
                LockedStage *s;

                if (lock_add_stage(l, x->requests[i].id, x->digests[i], &s) < 0)
                        return log_oom();
                int r = copy_stage(lock_find_stage(x->old, x->requests[i].id), s);
                if (r < 0)
                        return r;
        }
        return keep_origins(x, l);
}

static int add_repositories(Apt *apt, const Overlay *o) {
        for (size_t i = 0; i < o->n_repositories; i++) {
                int r = apt_add_repository(apt, o, o->repositories + i);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int enable_repositories(Apt *apt, const Overlay *o) {
        for (size_t i = 0; i < o->n_repositories; i++) {
                int r = apt_enable_repository(apt, o->repositories + i);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int open_apt(const Resolution *x, Apt **ret, int64_t *ret_epoch) {
        _cleanup_mirrors_ Mirrors mirrors = {};
        _cleanup_apt_free_ Apt *apt = NULL;
        int r;

        r = mirrors_find(x->ctx, x->recipe, &mirrors);
        if (r < 0)
                return r;
        r = apt_new(x->ctx, x->recipe, &mirrors, &apt);
        if (r < 0)
                return r;
        for (size_t i = 0; i < x->recipe->n_overlays; i++) {
                r = add_repositories(apt, x->recipe->overlays[i]);
                if (r < 0)
                        return r;
        }

        progress_detail(x->ctx->progress, "resolve", "package indexes");
        r = apt_update(apt, ret_epoch);
        if (r < 0)
                return r;
        if (x->old) {
                r = apt_offer_locked(apt, x->old);
                if (r < 0)
                        return r;
        }
        r = pin_locked(x, apt);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(apt);
        return 0;
}

/* *changed: a stage before came out different. */
static int solve_stage(const Resolution *x, Apt *apt, size_t i, Lock *l, bool *changed) {
        const PackageRequest *q = x->requests + i;
        const LockedStage *before = lock_find_stage(x->old, q->id);
        _cleanup_strv_free_ char **names = NULL;
        LockedStage *s;
        int kept, r;

        progress_detail(x->ctx->progress, "resolve", q->id);
        if (q->overlay) {
                r = enable_repositories(apt, q->overlay);
                if (r < 0)
                        return r;
        }
        r = expand(x, q, l, &names);
        if (r < 0)
                return r;
        if (lock_add_stage(l, q->id, x->digests[i], &s) < 0)
                return log_oom();

        kept = *changed ? 0 : is_kept(x, i);
        if (kept < 0)
                return kept;
        r = kept ? copy_stage(before, s) : apt_solve(apt, q->id, names, q->without, s);
        if (r < 0 || q->throwaway)
                return r;

        r = apt_install(apt, s, x->old ? x->old : l);
        if (r < 0)
                return r;
        if (!before || !stages_equal(before, s))
                *changed = true;
        return 0;
}

/* Signed once is signed for ever: whoever serves an old index takes mended packages back. Without
 * --update nothing that is locked moves. */
static int require_progress(const Resolution *x, int64_t epoch) {
        char locked[32] = "", served[32] = "";
        struct tm tm;

        if (!x->old || !x->options->update || epoch >= x->old->epoch)
                return 0;
        if (gmtime_r(&(time_t) { x->old->epoch }, &tm))
                strftime(locked, sizeof(locked), "%F %H:%M UTC", &tm);
        if (gmtime_r(&(time_t) { epoch }, &tm))
                strftime(served, sizeof(served), "%F %H:%M UTC", &tm);
        log_error("The distribution's index is of %s, older than the one that %s was made with (%s): "
                  "another mirror may be newer (--mirror); to go back on purpose, remove the lock first",
                        served, x->recipe->lock_path, locked);
        return -EBADMSG;
}

static int solve_stages(const Resolution *x, Lock *l) {
        _cleanup_apt_free_ Apt *apt = NULL;
        bool changed = false;
        int64_t epoch;
        int r;

        r = open_apt(x, &apt, &epoch);
        if (r < 0)
                return r;
        r = require_progress(x, epoch);
        if (r < 0)
                return r;
        r = apt_origins(apt, updates_all(x) ? NULL : x->old, l);
        if (r < 0)
                return r;
        for (size_t i = 0; i < x->n; i++) {
                r = solve_stage(x, apt, i, l, &changed);
                if (r < 0)
                        return r;
                /* Layers below stay what they are as long as the base does: so must their time
                 * stamps. The base is the first, and never thrown away. */
                if (i == 0)
                        l->epoch = changed ? epoch : x->old->epoch;
        }
        return apt_check_artifacts(apt, l);
}

/* Whether any stage needs apt. 1, 0 or negative errno. */
static int packages_wanted(const Resolution *x) {
        for (size_t i = 0; i < x->n; i++) {
                int r = is_kept(x, i);

                if (r <= 0)
                        return r < 0 ? r : 1;
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

/* With --locked: as the lock is, or not at all. */
static int refuse_change(const Resolution *x, const char *what) {
        log_error("%s %s, and --locked changes no lock: run 'imgbuild lock %s', look at what it changes, and build again",
                        x->recipe->lock_path, what, x->recipe->path);
        return -EINVAL;
}

static int fill_lock(const Resolution *x, Lock *l, bool packages, bool artifacts) {
        int r = resolve_artifacts(x->ctx, x->recipe, x->old, x->options, l);

        if (r < 0)
                return r;
        if (packages || (artifacts && brings_packages(x->recipe)))
                return solve_stages(x, l);
        return keep_stages(x, l);
}

static int run(Resolution *x, Lock **ret) {
        _cleanup_lock_free_ Lock *l = NULL;
        Progress *progress = x->ctx->progress;
        int packages, artifacts, r;

        r = find_moving(x);
        if (r < 0)
                return r;
        if (lock_new(x->recipe->name, &l) < 0)
                return log_oom();
        if (x->old && !updates_all(x)) {
                r = lock_verify(x->recipe, x->requests, x->digests, x->n, x->old);
                if (r < 0)
                        return r;
        }
        packages = packages_wanted(x);
        if (packages < 0)
                return log_oom();
        artifacts = resolve_artifacts(x->ctx, x->recipe, x->old, x->options, NULL);
        if (artifacts < 0)
                return artifacts;

        if (x->ctx->locked && (packages || artifacts))
                return refuse_change(x, x->old ? "does not lock all that the recipe asks for"
                                               : "is not there");
        if (x->ctx->offline && (packages || artifacts)) {
                log_error("%s does not lock all that the recipe asks for%s, and with --offline nothing is looked up: "
                          "run 'imgbuild lock %s' once without it",
                                x->recipe->lock_path,
                                x->options->update ? ", or is to be moved" : "", x->recipe->path);
                return -ENETUNREACH;
        }
        if (packages || artifacts) {
                progress_add(progress, "resolve");
                progress_set(progress, "resolve", PROGRESS_RUNNING);
        }
        r = fill_lock(x, l, packages, artifacts);
        if (packages || artifacts)
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
                return refuse_change(x, "locks what the recipe does not ask for");
        *ret = TAKE_PTR(l);
        return r ? 0 : 1;
}

int resolve(Context *ctx, const Recipe *recipe, const Lock *old, const ResolveOptions *options,
                Lock **ret) {
        Resolution x = { .ctx = ctx, .recipe = recipe, .old = old, .options = options };
        int r;

        r = lock_package_requests(recipe, &x.requests, &x.n);
        if (r < 0)
                return log_oom();
        x.digests = calloc(x.n, sizeof(Digest));
        r = x.digests ? resolve_request_digests(recipe, x.requests, x.n, x.digests) : -ENOMEM;
        r = r < 0 ? log_oom() : run(&x, ret);
        package_requests_free(x.requests, x.n);
        free(x.digests);
        strv_free(x.moving);
        return r;
}
