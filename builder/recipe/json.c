/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The merged recipe for others to read: plan --json, the manifest. Nothing in it depends on the
 * host. */

#include "recipe/recipe.h"
#include "shared/json-strv.h"

static int json_set_copy(json_object *o, const char *key, json_object *value) {
        json_object *copy = NULL;

        if (!value)
                return 0;
        return json_object_deep_copy(value, &copy, NULL) < 0 ? -ENOMEM : json_set(o, key, copy);
}

static json_object *base_to_json(const Recipe *r) {
        _cleanup_json_ json_object *o = json_object_new_object();

        if (!o || json_set_string(o, "distro", r->base.distro) < 0 ||
                        json_set_string(o, "release", r->base.release) < 0 ||
                        json_set_string(o, "arch", r->base.arch) < 0 ||
                        json_set(o, "components", json_from_strv(r->base.components)) < 0 ||
                        json_set_string(o, "mirror", r->base.mirror) < 0 ||
                        json_set(o, "packages", json_from_strv(r->base.packages)) < 0)
                return NULL;
        if (r->base.image &&
                        json_set_fields(o, JSON_STRING("image", recipe_image_name(r)),
                                        JSON_STRING("sha256", r->base.sha256),
                                        JSON_STRING("signed_by", r->base.signature.fingerprint),
                                        JSON_STRING("root", r->base.root)) < 0)
                return NULL;
        return TAKE_PTR(o);
}

static json_object *kernel_to_json(const Recipe *r) {
        _cleanup_json_ json_object *o = json_object_new_object();

        if (!o || json_set_fields(o, JSON_STRING("package", r->kernel.package),
                                  JSON_STRING("cmdline", r->kernel.cmdline)) < 0)
                return NULL;
        if (r->kernel.options && json_set(o, "options", json_from_strv(r->kernel.options)) < 0)
                return NULL;
        return TAKE_PTR(o);
}

static json_object *disk_to_json(const Recipe *r) {
        _cleanup_json_ json_object *o = json_object_new_object();

        if (!o ||
                        json_set_fields(o, JSON_INT("size", r->disk.size),
                                        JSON_STRING("layout", r->disk.keep ? "keep" : NULL),
                                        JSON_STRING("filesystem", r->disk.filesystem)) < 0 ||
                        json_set(o, "firmware", json_from_strv(r->disk.firmware)) < 0 ||
                        json_set(o, "formats", json_from_strv(r->disk.formats)) < 0)
                return NULL;
        return TAKE_PTR(o);
}

int recipe_to_json(const Recipe *r, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        _cleanup_strv_free_ char **overlays = NULL;
        bool disk = r->kind == RECIPE_DISK;

        if (!o)
                return -ENOMEM;
        for (size_t i = 0; i < r->n_overlays; i++)
                if (strv_extend(&overlays, r->overlays[i]->name) < 0)
                        return -ENOMEM;

        if (json_set_fields(o, JSON_STRING("name", r->name),
                            JSON_STRING("kind", disk ? "disk" : "tree"),
                            JSON_STRING("support", r->support_fail ? "fail" : NULL)) < 0 ||
                        json_set(o, "base", base_to_json(r)) < 0 ||
                        (disk && json_set(o, "kernel", kernel_to_json(r)) < 0) ||
                        json_set(o, "overlays", json_from_strv(overlays)) < 0 ||
                        json_set(o, "packages", json_from_strv(r->packages)) < 0 ||
                        (disk && json_set(o, "disk", disk_to_json(r)) < 0) ||
                        json_set_copy(o, "node", r->node) < 0)
                return -ENOMEM;

        *ret = TAKE_PTR(o);
        return 0;
}
