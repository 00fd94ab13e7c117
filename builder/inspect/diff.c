/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packages and facts of two sides, side by side. */

#include "inspect/diff.h"

#include "shared/strv.h"

static int new_side(const char *name, json_object *packages, json_object **ret,
                json_object **ret_facts) {
        _cleanup_json_ json_object *side = json_object_new_object();
        int r;

        if (!side)
                return -ENOMEM;
        r = json_set_fields(side, JSON_STRING("name", name),
                        JSON_TAKE("packages", json_object_get(packages)));
        if (r < 0)
                return r;
        r = json_add_object(side, "facts", ret_facts);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(side);
        return 0;
}

static int add_kernel_facts(json_object *facts, json_object *kernel) {
        const char *release = json_get_string(kernel, "release"),
                   *state = json_get_bool(kernel, "bootable", false) ? "bootable" : "modules only";
        _cleanup_free_ char *what = strf("kernel %s", strempty(release)),
                            *driver = strf("NVIDIA driver for %s", strempty(release));

        if (!what || !driver)
                return -ENOMEM;
        return json_set_fields(facts, JSON_STRING(what, state),
                        JSON_STRING(driver, json_get_string(kernel, "nvidia")));
}

int diff_side_from_inspection(json_object *inspection, json_object **ret) {
        _cleanup_json_ json_object *side = NULL;
        json_object *facts, *software = json_get(inspection, "software"),
                            *kernels = json_get(inspection, "kernels");
        int r;

        r = new_side(json_get_string(inspection, "image"), json_get(inspection, "packages"), &side,
                        &facts);
        if (r < 0)
                return r;
        r = json_set_fields(facts,
                        JSON_STRING("system", json_get_string(json_get(inspection, "os"), "name")),
                        JSON_TAKE("disk size",
                                        json_object_get(json_get(inspection, "virtual_size"))),
                        JSON_STRING("partition table",
                                        json_get_string(inspection, "partition_table")));
        if (r < 0)
                return r;
        for (size_t i = 0; i < json_array_length(kernels); i++) {
                r = add_kernel_facts(facts, json_object_array_get_idx(kernels, i));
                if (r < 0)
                        return r;
        }
        if (software) {
                json_object_object_foreach (software, key, s) {
                        (void) key;
                        r = json_set_string(facts, json_get_string(s, "label"),
                                        json_get_string(s, "version"));
                        if (r < 0)
                                return r;
                }
        }

        *ret = TAKE_PTR(side);
        return 0;
}

static int add_version_facts(json_object *facts, json_object *versions) {
        if (!json_object_is_type(versions, json_type_object))
                return 0;
        json_object_object_foreach (versions, key, value) {
                _cleanup_free_ char *what = strf("version of %s", key);
                int r;

                if (!what)
                        return -ENOMEM;
                r = json_set(facts, what, json_object_get(value));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_artifact_facts(json_object *facts, json_object *artifacts) {
        for (size_t i = 0; i < json_array_length(artifacts); i++) {
                json_object *a = json_object_array_get_idx(artifacts, i);
                _cleanup_free_ char *what =
                                strf("artifact %s/%s", strempty(json_get_string(a, "overlay")),
                                                strempty(json_get_string(a, "name")));
                int r;

                if (!what)
                        return -ENOMEM;
                r = json_set_string(facts, what, json_get_string(a, "version"));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_privileged_facts(json_object *facts, json_object *list) {
        for (size_t i = 0; i < json_array_length(list); i++) {
                json_object *p = json_object_array_get_idx(list, i);
                const char *capabilities = json_get_string(p, "capabilities"),
                           *device = json_get_string(p, "device"), *acl = json_get_string(p, "acl");
                _cleanup_free_ char *what =
                                strf("privileged %s", strempty(json_get_string(p, "path")));
                _cleanup_free_ char *how = strf("%s %lld:%lld%s%s%s%s%s%s",
                                strempty(json_get_string(p, "mode")),
                                (long long) json_get_int(p, "uid", 0),
                                (long long) json_get_int(p, "gid", 0), capabilities ? " " : "",
                                strempty(capabilities), device ? " " : "", strempty(device),
                                acl ? " " : "", strempty(acl));
                int r;

                if (!what || !how)
                        return -ENOMEM;
                r = json_set_string(facts, what, how);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_stage_facts(json_object *facts, json_object *stages) {
        for (size_t i = 0; i < json_array_length(stages); i++) {
                json_object *s = json_object_array_get_idx(stages, i);
                _cleanup_free_ char *what = strf("stage %s", strempty(json_get_string(s, "id"))),
                                    *digest = strndup(strempty(json_get_string(s, "digest")), 12);
                int r;

                if (!what || !digest)
                        return -ENOMEM;
                r = json_set_string(facts, what, digest);
                if (r < 0)
                        return r;
        }
        return 0;
}

int diff_side_from_manifest(json_object *manifest, const char *path, json_object **ret) {
        _cleanup_json_ json_object *side = NULL;
        json_object *facts;
        int r;

        if (!json_object_is_type(json_get(manifest, "packages"), json_type_array))
                return -EINVAL;
        r = new_side(path, json_get(manifest, "packages"), &side, &facts);
        if (r < 0)
                return r;
        r = json_set_string(facts, "kernel", json_get_string(manifest, "kernel"));
        if (r < 0)
                return r;
        r = add_version_facts(facts, json_get(manifest, "versions"));
        if (r < 0)
                return r;
        r = add_artifact_facts(facts, json_get(manifest, "artifacts"));
        if (r < 0)
                return r;
        r = add_privileged_facts(facts, json_get(manifest, "privileged"));
        if (r < 0)
                return r;
        r = add_stage_facts(facts, json_get(manifest, "stages"));
        if (r < 0)
                return r;

        *ret = TAKE_PTR(side);
        return 0;
}

/* name:arch → version; several versions of one package (kernels) in one text. */
static int index_packages(json_object *packages, json_object **ret) {
        _cleanup_json_ json_object *index = json_object_new_object();

        if (!index)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_length(packages); i++) {
                json_object *p = json_object_array_get_idx(packages, i);
                const char *name = json_get_string(p, "name"), *arch = json_get_string(p, "arch"),
                           *version = strempty(json_get_string(p, "version"));
                _cleanup_free_ char *key = arch ? strf("%s:%s", strempty(name), arch)
                                                : strdup(strempty(name)),
                                    *both = NULL;

                if (!key)
                        return -ENOMEM;
                const char *before = json_get_string(index, key);
                if (before && !(both = strf("%s, %s", before, version)))
                        return -ENOMEM;
                int r = json_set_string(index, key, both ? both : version);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(index);
        return 0;
}

/* `from` and `to` are left out where they are NULL. */
static int add_difference(json_object *array, const char *key, const char *value, json_object *from,
                json_object *to) {
        json_object *o = NULL;
        int r;

        r = json_append_object(array, &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING(key, value), JSON_TAKE("from", json_object_get(from)),
                        JSON_TAKE("to", json_object_get(to)));
}

static int by_what(const void *a, const void *b) {
        static const char *const keys[] = { "name", "what" };
        json_object *const *x = a, *const *y = b;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (json_get(*x, keys[i]))
                        return strcmp(strempty(json_get_string(*x, keys[i])),
                                        strempty(json_get_string(*y, keys[i])));
        return 0;
}

/* Walks both objects; whatever is only in one or differs is added to the array for it (which may be
 * one and the same). */
static int compare(json_object *a, json_object *b, const char *key, json_object *added,
                json_object *removed, json_object *changed) {
        int r = 0;

        if (a) {
                json_object_object_foreach (a, name, from) {
                        json_object *to = json_get(b, name);

                        if (!to)
                                r = add_difference(removed, key, name, from, NULL);
                        else if (!json_object_equal(from, to))
                                r = add_difference(changed, key, name, from, to);
                        if (r < 0)
                                return r;
                }
        }
        if (b) {
                json_object_object_foreach (b, name, to) {
                        if (!json_get(a, name))
                                r = add_difference(added, key, name, NULL, to);
                        if (r < 0)
                                return r;
                }
        }
        json_object_array_sort(added, by_what);
        json_object_array_sort(removed, by_what);
        json_object_array_sort(changed, by_what);
        return 0;
}

static int compare_packages(json_object *a, json_object *b, json_object *o) {
        _cleanup_json_ json_object *left = NULL, *right = NULL;
        json_object *packages, *added, *removed, *changed;
        int r;

        if (json_add_object(o, "packages", &packages) < 0 ||
                        json_add_array(packages, "added", &added) < 0 ||
                        json_add_array(packages, "removed", &removed) < 0 ||
                        json_add_array(packages, "changed", &changed) < 0)
                return -ENOMEM;
        r = index_packages(a, &left);
        if (r < 0)
                return r;
        r = index_packages(b, &right);
        if (r < 0)
                return r;
        return compare(left, right, "name", added, removed, changed);
}

int diff_sides(json_object *a, json_object *b, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *facts;
        int r;

        if (!o)
                return -ENOMEM;
        r = compare_packages(json_get(a, "packages"), json_get(b, "packages"), o);
        if (r < 0)
                return r;
        r = json_add_array(o, "facts", &facts);
        if (r < 0)
                return r;
        r = compare(json_get(a, "facts"), json_get(b, "facts"), "what", facts, facts, facts);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(o);
        return 0;
}

bool diff_is_empty(json_object *difference) {
        static const char *const groups[] = { "packages", "files" }, *const kinds[] = { "added",
                "removed", "changed" };

        for (size_t g = 0; g < ELEMENTSOF(groups); g++)
                for (size_t k = 0; k < ELEMENTSOF(kinds); k++) {
                        json_object *group = json_get(difference, groups[g]);

                        if (json_array_length(json_get(group, kinds[k])) > 0)
                                return false;
                }
        return json_array_length(json_get(difference, "facts")) == 0;
}
