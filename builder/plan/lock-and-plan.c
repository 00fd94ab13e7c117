/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a recipe's path to its plan. */

#include "plan/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"

static int complete_lock(Context *ctx, Recipe *recipe, const char *path, Lock **ret) {
        _cleanup_lock_free_ Lock *old = NULL, *lock = NULL;
        int r;

        r = lock_read(path, &old);
        if (r < 0 && r != -ENOENT)
                return r;
        r = resolve(ctx, recipe, old, &(ResolveOptions) { .target = ctx->keep_lock ? NULL : path },
                        &lock);
        if (r < 0)
                return r;
        if (r > 0 && ctx->keep_lock)
                log_info("%s %s; 'imgbuild lock' or 'imgbuild plan --lock' writes it", path,
                                old ? "is not complete" : "is not there yet");
        else if (r > 0) {
                r = mkdir_parents(path, 0755);
                if (r < 0)
                        return log_error_errno(r, "%s: cannot make its folder", path);
                r = lock_write(lock, path);
                if (r < 0)
                        return log_error_errno(r, "%s: cannot write the lock file", path);
                log_info("%s %s", old ? "Completed" : "Wrote", path);
        }

        *ret = TAKE_PTR(lock);
        return 0;
}

/* What a script fetches is pinned by nothing, and so is not locked. */
static int refuse_network(const Context *ctx, const Plan *plan) {
        for (size_t i = 0; ctx->locked && i < plan->n_stages; i++)
                if (stage_uses_network(plan->stages + i)) {
                        log_error("Stage %s: its script uses the network, and what it fetches is in no lock: --locked refuses it. Bring the files as artifacts of overlay %s, or build without --locked",
                                        plan->stages[i].id, plan->stages[i].overlay->path);
                        return -EINVAL;
                }
        return 0;
}

int lock_and_plan(Context *ctx, const char *recipe_path, const char *lock_path, Loaded *ret) {
        _cleanup_loaded_ Loaded l = {};
        int r;

        r = recipe_load(recipe_path, ctx->overlay_dirs, &l.recipe);
        if (r < 0)
                return r;
        r = complete_lock(ctx, l.recipe, lock_path ? lock_path : l.recipe->lock_path, &l.lock);
        if (r < 0)
                return r;
        r = plan_new(l.recipe, l.lock, &l.plan);
        if (r < 0)
                return log_error_errno(r, "%s: cannot plan", recipe_path);
        r = plan_find_maker(ctx, recipe_path, l.plan);
        if (r == -EINVAL)
                return r; /* the tools' lock said why */
        if (r < 0)
                return log_error_errno(r, "%s: cannot plan", recipe_path);
        r = refuse_network(ctx, l.plan);
        if (r < 0)
                return r;

        *ret = l;
        l = (Loaded) {};
        return 0;
}

void loaded_done(Loaded *l) {
        l->plan = plan_free(l->plan);
        l->lock = lock_free(l->lock);
        l->recipe = recipe_free(l->recipe);
}
