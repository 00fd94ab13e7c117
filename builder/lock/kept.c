/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What of a lock holds still and what moves: a stage whose request is as it was, and of which
 * nothing is to move, keeps its packages. */

#include "lock/resolution.h"
#include "shared/log.h"
#include "shared/suggest.h"

bool resolution_updates_all(const Resolution *x) {
        return x->options->update && !x->options->names;
}

/* Debian's packages of one source lie in one folder of the pool, and often want each other's very
 * version. */
static char *source_of(const Resolution *x, const LockedPackage *p) {
        const char *slash = x->recipe->family == FAMILY_DEBIAN ? strrchr(p->path, '/') : NULL;

        return slash ? strf("%s:%.*s", p->origin, (int) (slash - p->path), p->path)
                     : strf("%s:=%s", p->origin, p->name);
}

/* 1 when the package is to move, 0 when it is not. */
int resolution_package_moves(const Resolution *x, const LockedPackage *p) {
        _cleanup_free_ char *source = NULL;

        if (!x->moving)
                return resolution_updates_all(x);
        source = source_of(x, p);
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

/* The sources of the locked packages of this name move: 1 where there are any, 0 where there are
 * none. */
static int move_package(Resolution *x, const char *name) {
        int found = 0;

        for (size_t i = 0; x->old && i < x->old->n_stages; i++)
                for (size_t k = 0; k < x->old->stages[i].n_packages; k++) {
                        const LockedPackage *p = x->old->stages[i].packages + k;

                        if (!streq(p->name, name))
                                continue;
                        found = 1;
                        if (strv_push(&x->moving, source_of(x, p)) < 0)
                                return log_oom();
                }
        return found;
}

/* What --update could have meant: all that the lock has, and what the recipe asks for. */
static char *suggest_name(const Resolution *x, const char *name) {
        _cleanup_strv_free_ char **names = NULL;

        for (size_t i = 0; x->old && i < x->old->n_stages; i++)
                for (size_t k = 0; k < x->old->stages[i].n_packages; k++)
                        if (strv_extend(&names, x->old->stages[i].packages[k].name) < 0)
                                return NULL;
        for (size_t i = 0; x->old && i < x->old->n_environments; i++)
                for (size_t k = 0; k < x->old->environments[i].n_wheels; k++)
                        if (strv_extend(&names, x->old->environments[i].wheels[k].name) < 0)
                                return NULL;
        for (size_t i = 0; i < x->recipe->n_overlays; i++)
                for (size_t k = 0; k < x->recipe->overlays[i]->n_artifacts; k++)
                        if (strv_extend(&names, x->recipe->overlays[i]->artifacts[k].name) < 0)
                                return NULL;
        return suggest_text(name, names);
}

/* From names on the command line to source packages. */
int resolution_find_moving(Resolution *x) {
        STRV_FOREACH (name, x->options->names) {
                int found = x->recipe->base.image && streq(*name, "image") ? 1
                                                                           : move_package(x, *name);

                if (found < 0)
                        return found;
                if (!found && !name_is_known(x, *name) && !lock_knows_wheel(x->old, *name)) {
                        _cleanup_free_ char *meant = suggest_name(x, *name);

                        return log_error_return(-EINVAL,
                                        "--update %s: neither a package nor an artifact nor a wheel that %s locks%s",
                                        *name, x->recipe->lock_path, strempty(meant));
                }
        }
        return 0;
}

/* Whether the lock answers request i as it stands, its predecessors aside. */
int resolution_keeps(const Resolution *x, size_t i) {
        const LockedStage *s = lock_find_stage(x->old, x->requests[i].id);

        if (!s || !streq(s->request, x->digests[i]) || resolution_updates_all(x))
                return 0;
        for (size_t k = 0; k < s->n_packages; k++) {
                int r = resolution_package_moves(x, s->packages + k);

                if (r != 0)
                        return r < 0 ? r : 0;
        }
        return 1;
}

int locked_stage_copy(const LockedStage *from, LockedStage *to) {
        for (size_t i = 0; from && i < from->n_packages; i++)
                if (locked_stage_add(to, from->packages + i) < 0)
                        return log_oom();
        return 0;
}

/* Whether any stage needs apt. 1, 0 or negative errno. */
int resolution_wants_packages(const Resolution *x) {
        for (size_t i = 0; i < x->n; i++) {
                int r;

                /* An image brings its packages along, unless there are repositories to lock. */
                if (x->image.name && strv_length(x->requests[i].packages) == 0 &&
                                !x->requests[i].overlay && x->recipe->base.n_repositories == 0)
                        continue;
                r = resolution_keeps(x, i);
                if (r <= 0)
                        return r < 0 ? r : 1;
        }
        return 0;
}

static bool has_repository(const Recipe *recipe, const char *name) {
        for (size_t i = 0; i < recipe->base.n_repositories; i++)
                if (streq(recipe->base.repositories[i].name, name))
                        return true;
        for (size_t i = 0; i < recipe->n_overlays; i++)
                for (size_t k = 0; k < recipe->overlays[i]->n_repositories; k++)
                        if (streq(recipe->overlays[i]->repositories[k].name, name))
                                return true;
        return false;
}

/* Origins of a lock that needed no apt: the old one's, without repositories that no overlay brings
 * any more. */
static int keep_origins(const Resolution *x, Lock *l) {
        for (size_t i = 0; x->old && i < x->old->n_origins; i++) {
                const LockedOrigin *o = x->old->origins + i;

                if ((!o->fingerprint || has_repository(x->recipe, o->name)) &&
                                lock_add_origin(l, o) < 0)
                        return log_oom();
        }
        return 0;
}

int resolution_keep_stages(const Resolution *x, Lock *l) {
        l->epoch = MAX(x->old ? x->old->epoch : 0, x->image.newest);
        for (size_t i = 0; i < x->n; i++) {
                LockedStage *s;

                if (lock_add_stage(l, x->requests[i].id, x->digests[i], &s) < 0)
                        return log_oom();
                int r = locked_stage_copy(lock_find_stage(x->old, x->requests[i].id), s);
                if (r < 0)
                        return r;
        }
        return keep_origins(x, l);
}

int resolution_refuse_change(const Resolution *x, const char *what) {
        log_error("%s %s, and --locked changes no lock: run 'imgbuild lock %s', look at what it changes, and build again",
                        x->recipe->lock_path, what, x->recipe->path);
        return -EINVAL;
}
