/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An overlay from its folder: found, read, checked; its simple lists, its files/, its checks. */

#include "recipe/overlay.h"
#include "shared/file-util.h"
#include "recipe/formats.h"
#include "recipe/limits.h"
#include "recipe/overlay-items.h"
#include "recipe/overlay-tree.h"
#include "recipe/recipe.h"
#include "shared/log.h"
#include "shared/suggest.h"

#include "shared/folder.h"
#include <sys/stat.h>

static int load_checks(const OverlayLoading *l, json_object *o) {
        json_object *list = json_get(o, "checks");

        for (size_t i = 0; i < json_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                _cleanup_free_ char *path = strf("$.checks[%zu]", i), *script = NULL;

                if (!path)
                        return -ENOMEM;
                if (!item)
                        continue;
                script = overlay_load_script(l, path, json_object_get_string(item));
                if (script && strv_push(&l->overlay->checks, TAKE_PTR(script)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Nothing would be copied, without a word. */
static void check_misnamed(const OverlayLoading *l) {
        _cleanup_closedir_ DIR *d = NULL;
        struct stat st;

        if (folder_open(l->overlay->path, &d) < 0)
                return;
        FOLDER_FOREACH (name, d)
                if (suggest_distance(name, "files") == 1 && fstatat(dirfd(d), name, &st, 0) >= 0 &&
                                S_ISDIR(st.st_mode))
                        problems_add(l->problems, l->file, NULL,
                                        "the folder \"%s\" beside it is copied nowhere; did you mean \"files\"?",
                                        name);
}

static int load_files(const OverlayLoading *l, json_object *o) {
        _cleanup_free_ char *files = path_join(l->overlay->path, "files");
        TreePlace at = { .problems = l->problems, .file = l->file };
        json_object *modes = json_get(o, "modes");
        struct stat st;

        if (!files)
                return -ENOMEM;
        l->overlay->has_files = lstat(files, &st) >= 0;
        if (!l->overlay->has_files)
                check_misnamed(l);
        else
                tree_check(&at, l->overlay->path, "files", true);
        if (!modes)
                return 0;
        json_object_object_foreach (modes, key, value) {
                _cleanup_free_ char *target = path_join(files, key),
                                    *path = schema_path("$.modes", key);
                _cleanup_free_ char *real = NULL;

                if (!target || !path)
                        return -ENOMEM;
                /* Whoever sets the mode must not be led through a link to somewhere else. */
                real = realpath(target, NULL);
                if (lstat(target, &st) < 0)
                        problems_add(l->problems, l->file, path, "there is no files/%.200s", key);
                else if (!streq_ptr(real, target))
                        problems_add(l->problems, l->file, path,
                                        "files/%.200s is, or goes through, a link; a link has no mode \"%s\"",
                                        key, json_object_get_string(value));
        }
        l->overlay->modes = json_object_get(modes);
        return 0;
}

int recipe_overlay_units(const Overlay *overlay, char ***ret) {
        static const char *const folders[] = { "etc/systemd/system", "usr/lib/systemd/system",
                "lib/systemd/system" };
        _cleanup_strv_free_ char **names = NULL;

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *folder = strf("%s/files/%s", overlay->path, folders[i]);
                _cleanup_closedir_ DIR *d = NULL;

                if (!folder)
                        return -ENOMEM;
                if (folder_open(folder, &d) < 0)
                        continue;
                FOLDER_FOREACH (name, d)
                        if (strv_extend(&names, name) < 0)
                                return -ENOMEM;
        }
        *ret = TAKE_PTR(names);
        return 0;
}

/* A unit may come from a package, or be misspelt: two letters, not another kind of unit. */
static void warn_of_units(const OverlayLoading *l, char *const *enable) {
        _cleanup_strv_free_ char **own = NULL;

        if (recipe_overlay_units(l->overlay, &own) < 0)
                return;
        STRV_FOREACH (unit, enable)
                STRV_FOREACH (other, own)
                        if (!strv_contains(own, *unit) && suggest_distance(*unit, *other) <= 2 &&
                                        streq(strempty(strrchr(*unit, '.')),
                                                        strempty(strrchr(*other, '.'))))
                                log_warning("%s: $.services.enable: the overlay's files have no %s; did you mean \"%s\"?",
                                                l->file, *unit, *other);
}

/* systemctl would do both in turn, and the last one would win without a word. */
static void check_services(const OverlayLoading *l, const Services *s) {
        warn_of_units(l, s->enable);
        STRV_FOREACH (unit, s->enable)
                if (strv_contains(s->disable, *unit) || strv_contains(s->mask, *unit))
                        problems_add(l->problems, l->file, "$.services",
                                        "%s is to be enabled and %s", *unit,
                                        strv_contains(s->mask, *unit) ? "masked" : "disabled");
}

static void check_family_of(const OverlayLoading *l, const char *path, json_object *both) {
        const char *other = streq(l->family, "el") ? "debian" : "el";

        if (json_get(both, other) && !json_get(both, l->family))
                problems_add(l->problems, l->file, path,
                                "are for family %s alone, and the recipe's is %s; give its own under \"%s\", or an empty list where it needs none",
                                other, l->family, l->family);
}

/* What only the other family's part of an overlay brings would be missing without a word. */
static void check_family(const OverlayLoading *l, json_object *o) {
        json_object *compile = json_get(o, "compile");

        check_family_of(l, "$.packages", json_get(o, "packages"));
        check_family_of(l, "$.repositories", json_get(o, "repositories"));
        for (size_t i = 0; i < json_array_length(compile); i++) {
                json_object *item = json_object_array_get_idx(compile, i);
                _cleanup_free_ char *path = strf("$.compile[%zu].packages", i);

                if (!path)
                        l->problems->oom = true;
                else
                        check_family_of(l, path, json_get(item, "packages"));
        }
}

/* Units of both families, then those that are called so in the recipe's alone. */
static int load_services(const OverlayLoading *l, json_object *o) {
        json_object *services = json_get(o, "services");
        json_object *const sources[] = { services, json_get(services, l->family) };
        const struct {
                const char *key;
                char ***list;
        } lists[] = { { "enable", &l->overlay->services.enable },
                { "disable", &l->overlay->services.disable },
                { "mask", &l->overlay->services.mask } };

        for (size_t i = 0; i < ELEMENTSOF(sources) * ELEMENTSOF(lists); i++) {
                size_t k = i % ELEMENTSOF(lists);
                _cleanup_strv_free_ char **units = NULL;

                if (schema_get_strv(sources[i / ELEMENTSOF(lists)], lists[k].key, &units) < 0 ||
                                strv_extend_strv(lists[k].list, units) < 0)
                        return -ENOMEM;
        }
        check_services(l, &l->overlay->services);
        return 0;
}

static int load_lists(const OverlayLoading *l, json_object *o) {
        Overlay *overlay = l->overlay;

        if (overlay_load_string(o, "description", &overlay->description) < 0 ||
                        schema_get_strv(o, "requires", &overlay->requires) < 0 ||
                        schema_get_strv(o, "conflicts", &overlay->conflicts) < 0 ||
                        schema_get_strv(json_get(o, "packages"), l->family, &overlay->packages) <
                                        0 ||
                        load_services(l, o) < 0)
                return -ENOMEM;
        check_family(l, o);
        overlay->limits = limits_from_json(json_get(o, "limits"));
        overlay->node = json_object_get(json_get(o, "node"));
        return 0;
}

/* The folder of `name` in the first of dirs that has one: its path as the person would write it. */
static int find_overlay(
                char *const *dirs, const char *name, const char **ret_dir, char **ret_folder) {
        STRV_FOREACH (dir, dirs) {
                _cleanup_free_ char *folder = path_join(*dir, name);
                struct stat st;

                if (!folder)
                        return -ENOMEM;
                if (stat(folder, &st) >= 0 && S_ISDIR(st.st_mode)) {
                        *ret_dir = *dir;
                        *ret_folder = TAKE_PTR(folder);
                        return 0;
                }
        }
        return -ENOENT;
}

int overlay_load(Problems *p, const OverlayContext *ctx, const char *name, Overlay **ret,
                char **ret_file) {
        _cleanup_overlay_free_ Overlay *overlay = NULL;
        _cleanup_free_ char *folder = NULL, *file = NULL;
        _cleanup_json_ json_object *o = NULL;
        const char *dir;
        int r;

        r = find_overlay(ctx->dirs, name, &dir, &folder);
        if (r < 0)
                return r;
        file = path_join(folder, "overlay.json");
        overlay = calloc(1, sizeof(*overlay));
        if (!file || !overlay)
                return -ENOMEM;
        r = schema_load(p, file, &o);
        if (r == -ENOENT)
                problems_add(p, folder, NULL, "there is no overlay.json in it");
        if (r < 0)
                return r == -ENOENT ? -EINVAL : r;
        schema_validate(p, file, overlay_keys, o, false);

        overlay->name = strdup(name);
        overlay->path = realpath(folder, NULL);
        if (!overlay->name || !overlay->path)
                return -ENOMEM;

        OverlayLoading l = {
                .problems = p,
                .ctx = ctx,
                .family = ctx->family == FAMILY_EL ? "el" : "debian",
                .dir = dir,
                .file = file,
                .overlay = overlay,
        };
        static int (*const loaders[])(const OverlayLoading *, json_object *) = {
                load_lists,
                overlay_load_repositories,
                overlay_load_artifacts,
                overlay_load_compile,
                overlay_load_python,
                load_files,
                overlay_load_steps,
                overlay_load_run,
                load_checks,
        };
        for (size_t i = 0; i < ELEMENTSOF(loaders); i++) {
                r = loaders[i](&l, o);
                if (r < 0)
                        return r;
        }
        overlay->file = strdup(file);
        if (!overlay->file)
                return -ENOMEM;
        *ret = TAKE_PTR(overlay);
        *ret_file = TAKE_PTR(file);
        return 0;
}

int overlay_names(char *const *dirs, char ***ret) {
        _cleanup_strv_free_ char **names = NULL;

        STRV_FOREACH (dir, dirs) {
                _cleanup_closedir_ DIR *d = NULL;

                if (folder_open(*dir, &d) < 0)
                        continue;
                FOLDER_FOREACH (name, d) {
                        _cleanup_free_ char *file = strf("%s/%s/overlay.json", *dir, name);

                        if (!file)
                                return -ENOMEM;
                        if (*name == '.' || access(file, F_OK) < 0)
                                continue;
                        if (strv_extend(&names, name) < 0)
                                return -ENOMEM;
                }
        }
        strv_sort(names);
        *ret = TAKE_PTR(names);
        return 0;
}
