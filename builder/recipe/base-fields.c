/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What bases of every kind have: files that a recipe names beside itself, and keys that have to be
 * there. */

#include "recipe/building.h"
#include "shared/file-util.h"

int recipe_file_resolve(const RecipeFile *f, json_object *o, const char *key) {
        const char *value = json_get_string(o, key);
        _cleanup_free_ char *folder = NULL, *path = NULL;

        if (!value || value[0] == '/' || strstr(value, "://"))
                return 0;
        folder = path_folder(f->path);
        path = folder ? path_join(folder, value) : NULL;
        return path ? json_set_string(o, key, path) : -ENOMEM;
}

int base_take(Building *b, json_object *o, const char *where, const char *key, const char *what,
                char **ret) {
        const char *value = json_get_string(o, key);
        _cleanup_free_ char *path = strf("%s.%s", where, key);

        if (!path)
                return -ENOMEM;
        if (!value && !problems_at(b->problems, NULL, path))
                problems_add(b->problems, b->file, path, "missing: %s", what);
        *ret = strdup(strempty(value));
        return *ret ? 0 : -ENOMEM;
}
