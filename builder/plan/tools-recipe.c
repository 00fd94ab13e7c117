/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where the recipe of the tools lies, and its lock. */

#include "plan/plan.h"
#include "common/data-folder.h"
#include "shared/file-util.h"
#include "store/store.h"

/* An existing lock lies beside the recipe; a new one does too, unless that folder is not ours to
 * write in. */
static char *lock_path(Context *ctx, const char *folder, const char *name) {
        _cleanup_free_ char *file = strf("%s.lock.json", name),
                            *lock = file ? path_join(folder, file) : NULL;

        if (!lock)
                return NULL;
        if (access(lock, R_OK) >= 0)
                return TAKE_PTR(lock);
        if (startswith(folder, DATADIR) || access(folder, W_OK) < 0)
                return path_join(store_path(ctx->store), file);
        return TAKE_PTR(lock);
}

/* Of the shipped recipes. */
static char *shipped_folder(void) {
        _cleanup_free_ char *data = data_folder();

        return data ? path_join(data, "images") : NULL;
}

char *tools_recipe(void) {
        _cleanup_free_ char *shipped = shipped_folder();
        const char *const folders[] = { "images", shipped };

        for (size_t i = 0; shipped && i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = path_join(folders[i], "tools.json");

                if (path && access(path, F_OK) >= 0)
                        return TAKE_PTR(path);
        }
        return NULL;
}

int tools_recipe_find(
                Context *ctx, const char *near, const char *name, char **ret, char **ret_lock) {
        _cleanup_free_ char *beside = near ? path_folder(near) : NULL, *shipped = shipped_folder();
        _cleanup_free_ char *file = strf("%s.json", name);
        const char *const folders[] = { beside, "images", shipped };

        if ((near && !beside) || !shipped || !file)
                return -ENOMEM;
        for (size_t i = beside ? 0 : 1; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *recipe = path_join(folders[i], file), *lock = NULL;

                if (!recipe)
                        return -ENOMEM;
                if (access(recipe, F_OK) < 0)
                        continue;
                lock = lock_path(ctx, folders[i], name);
                if (!lock)
                        return -ENOMEM;

                *ret = TAKE_PTR(recipe);
                *ret_lock = TAKE_PTR(lock);
                return 0;
        }
        return -ENOENT;
}
