/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The merged recipe for others to read: plan --json, the manifest. Nothing in it depends on the
 * host. */

#include "recipe/recipe.h"

static json_object *json_from_strv(char *const *l) {
        _cleanup_json_ json_object *list = json_object_new_array();

        STRV_FOREACH (s, l) {
                json_object *item = json_object_new_string(*s);
                if (!list || !item || json_object_array_add(list, item) < 0) {
                        json_object_put(item);
                        return NULL;
                }
        }
        return TAKE_PTR(list);
}

static int json_set_copy(json_object *o, const char *key, json_object *value) {
        json_object *copy = NULL;

        if (!value)
                return 0;
        return json_object_deep_copy(value, &copy, NULL) < 0 ? -ENOMEM : json_set(o, key, copy);
}

int recipe_to_json(const Recipe *r, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object(), *base = json_object_new_object();
        _cleanup_json_ json_object *kernel = json_object_new_object(),
                                   *disk = json_object_new_object();
        _cleanup_strv_free_ char **overlays = NULL;

        if (!o || !base || !kernel || !disk)
                return -ENOMEM;
        for (size_t i = 0; i < r->n_overlays; i++)
                if (strv_extend(&overlays, r->overlays[i]->name) < 0)
                        return -ENOMEM;
        if (json_set_string(base, "distro", r->base.distro) < 0 ||
                        json_set_string(base, "release", r->base.release) < 0 ||
                        json_set_string(base, "arch", r->base.arch) < 0 ||
                        json_set(base, "components", json_from_strv(r->base.components)) < 0 ||
                        json_set_string(base, "mirror", r->base.mirror) < 0 ||
                        json_set(base, "packages", json_from_strv(r->base.packages)) < 0 ||
                        json_set_string(o, "name", r->name) < 0 ||
                        json_set_string(o, "kind", r->kind == RECIPE_TREE ? "tree" : "disk") < 0 ||
                        json_set(o, "base", TAKE_PTR(base)) < 0)
                return -ENOMEM;
        if (r->kind == RECIPE_DISK &&
                        (json_set_string(kernel, "package", r->kernel.package) < 0 ||
                                        json_set_string(kernel, "cmdline", r->kernel.cmdline) < 0 ||
                                        json_set(o, "kernel", TAKE_PTR(kernel)) < 0))
                return -ENOMEM;
        if (json_set(o, "overlays", json_from_strv(overlays)) < 0 ||
                        json_set(o, "packages", json_from_strv(r->packages)) < 0)
                return -ENOMEM;
        if (r->kind == RECIPE_DISK &&
                        (json_set_int(disk, "size", (int64_t) r->disk.size) < 0 ||
                                        json_set_string(disk, "filesystem", r->disk.filesystem) <
                                                        0 ||
                                        json_set(disk, "firmware",
                                                        json_from_strv(r->disk.firmware)) < 0 ||
                                        json_set(disk, "formats", json_from_strv(r->disk.formats)) <
                                                        0 ||
                                        json_set(o, "disk", TAKE_PTR(disk)) < 0))
                return -ENOMEM;
        if (json_set_copy(o, "node", r->node) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}
