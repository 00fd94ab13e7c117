/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The stages that are asked anew, one after the other, as each is made on those before it. What is
 * locked and not to move is pinned meanwhile. */

#include "lock/resolution.h"

#include "lock/apt.h"

/* What is locked and not to move. A later stage's version of a package is the one the image ends
 * up with. */
static int pin_locked(const Resolution *x, Apt *apt) {
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
                        if (strv_extend(&seen, p->name) < 0 || apt_pin(apt, p) < 0)
                                return log_oom();
                }
        return 0;
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

/* The names to ask apt for: the base's implied ones, and "${kernel}" replaced by the locked
 * kernel's release. */
static int expand(const Resolution *x, const PackageRequest *q, const Lock *l, char ***ret) {
        static const char variable[] = "${kernel}";
        _cleanup_strv_free_ char **names = NULL;
        const char *kernel = lock_kernel_release(l);

        /* What mmdebstrap installs for --variant=apt. */
        if (streq(q->id, "base") && !x->image.name &&
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

        kept = *changed ? 0 : resolution_keeps(x, i);
        if (kept < 0)
                return kept;
        r = kept ? locked_stage_copy(before, s) : apt_solve(apt, q->id, names, q->without, s);
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

/* What is on the image counts as installed. */
static int install_image(const Resolution *x, Apt *apt) {
        _cleanup_free_ char *status = NULL;
        int r;

        r = resolution_image_status(x, &status);
        return r < 0 ? r : apt_install_status(apt, status);
}

int resolution_solve(const Resolution *x, Lock *l) {
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
        if (x->image.name) {
                r = install_image(x, apt);
                if (r < 0)
                        return r;
        }
        r = apt_origins(apt, resolution_updates_all(x) ? NULL : x->old, l);
        if (r < 0)
                return r;
        for (size_t i = 0; i < x->n; i++) {
                r = solve_stage(x, apt, i, l, &changed);
                if (r < 0)
                        return r;
                /* Layers below stay what they are as long as the base does: so must their time
                 * stamps. The base is the first, and never thrown away. */
                if (i == 0)
                        l->epoch = MAX(changed || !x->old ? epoch : x->old->epoch, x->image.newest);
        }
        return apt_check_artifacts(apt, l);
}
