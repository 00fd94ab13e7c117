/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The stages that are asked anew, one after the other, as each is made on those before it. What is
 * locked and not to move is pinned meanwhile. */

#include "lock/resolution.h"

#include "common/dpkg-status.h"
#include "lock/apt.h"
#include "lock/dnf.h"
#include "shared/file-util.h"

/* Whichever the recipe's family has; the other is NULL. */
typedef struct Solver {
        Apt *apt;
        Dnf *dnf;
} Solver;

static void solver_done(Solver *s) {
        apt_free(s->apt);
        dnf_free(s->dnf);
}

static int solver_pin(const Solver *s, const LockedPackage *p) {
        return s->dnf ? dnf_pin(s->dnf, p) : apt_pin(s->apt, p);
}

/* What is locked and not to move. A later stage's version of a package is the one the image ends
 * up with. */
static int pin_locked(const Resolution *x, const Solver *solver) {
        _cleanup_strv_free_ char **seen = NULL;

        if (!x->old || resolution_updates_all(x))
                return 0;
        for (size_t i = x->old->n_stages; i-- > 0;)
                for (size_t k = 0; k < x->old->stages[i].n_packages; k++) {
                        const LockedPackage *p = x->old->stages[i].packages + k;
                        int moves = resolution_package_moves(x, p);

                        if (moves < 0)
                                return log_oom();
                        if (moves || strv_contains(seen, p->name))
                                continue;
                        if (strv_extend(&seen, p->name) < 0 || solver_pin(solver, p) < 0)
                                return log_oom();
                }
        return 0;
}

bool locked_stages_equal(const LockedStage *a, const LockedStage *b) {
        if (a->n_packages != b->n_packages || !streq(a->request, b->request))
                return false;
        for (size_t i = 0; i < a->n_packages; i++)
                if (!streq(a->packages[i].name, b->packages[i].name) ||
                                !streq(a->packages[i].sha256, b->packages[i].sha256))
                        return false;
        return true;
}

/* The names to ask apt for: the base's implied ones, and "${kernel}" replaced by the locked
 * kernel's release. */
static int expand(const Resolution *x, const PackageRequest *q, const Lock *l, char ***ret) {
        static const char variable[] = "${kernel}";
        _cleanup_strv_free_ char **names = NULL;
        const char *kernel = lock_kernel_release(l);

        /* What mmdebstrap installs for --variant=apt. */
        if (streq(q->id, "base") && !x->image.name && x->recipe->family == FAMILY_DEBIAN &&
                        strv_extend_many(&names, "?essential", "apt", NULL) < 0)
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

static int add_repositories(const Solver *s, const Overlay *o) {
        for (size_t i = 0; i < o->n_repositories; i++) {
                int r = s->dnf ? dnf_add_repository(s->dnf, o, o->repositories + i)
                               : apt_add_repository(s->apt, o, o->repositories + i);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int enable_repositories(const Solver *s, const Overlay *o) {
        for (size_t i = 0; i < o->n_repositories; i++) {
                int r = 0;

                if (s->dnf)
                        dnf_enable_repository(s->dnf, o->repositories + i);
                else
                        r = apt_enable_repository(s->apt, o->repositories + i);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int open_apt(const Resolution *x, Apt **ret) {
        _cleanup_mirrors_ Mirrors mirrors = {};
        int r;

        r = mirrors_find(x->ctx, x->recipe, &mirrors);
        return r < 0 ? r : apt_new(x->ctx, x->recipe, &mirrors, ret);
}

static int open_dnf(const Resolution *x, Dnf **ret) {
        const Recipe *recipe = x->recipe;
        _cleanup_dnf_free_ Dnf *dnf = NULL;
        int r;

        r = dnf_new(x->ctx, recipe, &dnf);
        if (r < 0)
                return r;
        for (size_t i = 0; i < recipe->base.n_repositories; i++) {
                r = dnf_add_repository(dnf, NULL, recipe->base.repositories + i);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(dnf);
        return 0;
}

static int offer_locked(const Resolution *x, const Solver *s) {
        if (!x->old)
                return 0;
        return s->dnf ? dnf_offer_locked(s->dnf, x->old) : apt_offer_locked(s->apt, x->old);
}

static int open_solver(const Resolution *x, Solver *ret, int64_t *ret_epoch) {
        _cleanup_(solver_done) Solver s = {};
        int r;

        r = x->recipe->family == FAMILY_EL ? open_dnf(x, &s.dnf) : open_apt(x, &s.apt);
        if (r < 0)
                return r;
        for (size_t i = 0; i < x->recipe->n_overlays; i++) {
                r = add_repositories(&s, x->recipe->overlays[i]);
                if (r < 0)
                        return r;
        }

        progress_detail(x->ctx->progress, "resolve", "package indexes");
        r = s.dnf ? dnf_update(s.dnf, ret_epoch) : apt_update(s.apt, ret_epoch);
        if (r < 0)
                return r;
        r = offer_locked(x, &s);
        if (r < 0)
                return r;
        r = pin_locked(x, &s);
        if (r < 0)
                return r;

        *ret = s;
        s = (Solver) {};
        return 0;
}

static int ask(const Solver *solver, const PackageRequest *q, char *const *names, const Lock *l,
                LockedStage *s) {
        return solver->dnf ? dnf_solve(solver->dnf, q, names, l, s)
                           : apt_solve(solver->apt, q->id, names, q->without, s);
}

static int install(const Resolution *x, const Solver *solver, const Lock *l, LockedStage *s) {
        return solver->dnf ? dnf_install(solver->dnf, s)
                           : apt_install(solver->apt, s, x->old ? x->old : l);
}

/* *changed: a stage before came out different. */
static int solve_stage(
                const Resolution *x, const Solver *solver, size_t i, Lock *l, bool *changed) {
        const PackageRequest *q = x->requests + i;
        const LockedStage *before = lock_find_stage(x->old, q->id);
        _cleanup_strv_free_ char **names = NULL;
        LockedStage *s;
        int kept, r;

        progress_detail(x->ctx->progress, "resolve", q->id);
        if (q->overlay) {
                r = enable_repositories(solver, q->overlay);
                if (r < 0)
                        return r;
        }
        r = expand(x, q, l, &names);
        if (r < 0)
                return r;
        if (lock_add_stage(l, q->id, x->digests[i], &s) < 0)
                return log_oom();

        kept = *changed ? 0 : resolution_keeps(x, i);
        if (kept < 0)
                return kept;
        r = kept ? locked_stage_copy(before, s) : ask(solver, q, names, l, s);
        if (r < 0 || q->throwaway)
                return r;

        r = install(x, solver, l, s);
        if (r < 0)
                return r;
        if (!before || !locked_stages_equal(before, s))
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

/* What is on the image counts as installed. */
static int install_image(const Resolution *x, const Solver *s) {
        _cleanup_free_ char *path = NULL, *status = NULL;
        int r;

        r = resolution_image_packages(x, &path);
        if (r < 0)
                return r;
        if (s->dnf)
                return dnf_install_database(s->dnf, path);
        r = read_file(path, DPKG_STATUS_MAX, &status, NULL);
        return r < 0 ? log_error_errno(r, "%s: cannot read it", path)
                     : apt_install_status(s->apt, status);
}

static int origins(const Resolution *x, const Solver *s, Lock *l) {
        const Lock *old = resolution_updates_all(x) ? NULL : x->old;

        return s->dnf ? dnf_origins(s->dnf, old, l) : apt_origins(s->apt, old, l);
}

int resolution_solve(const Resolution *x, Lock *l) {
        _cleanup_(solver_done) Solver solver = {};
        bool changed = false;
        int64_t epoch;
        int r;

        r = open_solver(x, &solver, &epoch);
        if (r < 0)
                return r;
        r = require_progress(x, epoch);
        if (r < 0)
                return r;
        if (x->image.name) {
                r = install_image(x, &solver);
                if (r < 0)
                        return r;
        }
        r = origins(x, &solver, l);
        if (r < 0)
                return r;
        for (size_t i = 0; i < x->n; i++) {
                r = solve_stage(x, &solver, i, l, &changed);
                if (r < 0)
                        return r;
                /* Layers below stay what they are as long as the base does: so must their time
                 * stamps. The base is the first, and never thrown away. */
                if (i == 0)
                        l->epoch = MAX(changed || !x->old ? epoch : x->old->epoch, x->image.newest);
        }
        return solver.apt ? apt_check_artifacts(solver.apt, l) : dnf_check_artifacts(solver.dnf, l);
}
