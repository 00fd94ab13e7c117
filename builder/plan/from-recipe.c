/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/from-recipe.h"
#include "lock/resolve.h"

int plan_load(Context *ctx, const char *recipe_path, const char *lock_path, Loaded *ret) {
        _cleanup_loaded_ Loaded l = {};
        _cleanup_lock_free_ Lock *old = NULL;
        int r;

        r = recipe_load(recipe_path, ctx->overlay_dirs, &l.recipe);
        if (r < 0)
                return r;
        if (!lock_path)
                lock_path = l.recipe->lock_path;
        r = lock_read(lock_path, &old);
        if (r < 0 && r != -ENOENT)
                return r;
        r = resolve(ctx, l.recipe, old, &(ResolveOptions) {}, &l.lock);
        if (r < 0)
                return r;
        if (r > 0) {
                r = lock_write(l.lock, lock_path);
                if (r < 0)
                        return log_error_errno(r, "%s: cannot write the lock file", lock_path);
                log_info("%s %s", old ? "Completed" : "Wrote", lock_path);
        }
        r = plan_new(l.recipe, l.lock, &l.plan);
        if (r < 0)
                return log_error_errno(r, "%s: cannot plan", recipe_path);
        *ret = l;
        l = (Loaded) {};
        return 0;
}

void loaded_done(Loaded *l) {
        l->plan = plan_free(l->plan);
        l->lock = lock_free(l->lock);
        l->recipe = recipe_free(l->recipe);
}
