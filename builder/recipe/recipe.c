/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a recipe's file to the Recipe that the other rooms read: extended, merged, its overlays
 * loaded and ordered. Everything that is wrong is gathered on the way and told at the end. */

#include "recipe/building.h"
#include "recipe/formats.h"
#include "recipe/lock-place.h"
#include "recipe/limits.h"
#include "recipe/merge.h"
#include "recipe/node-config.h"
#include "recipe/patterns.h"
#include "shared/file-util.h"
#include "shared/log.h"

static bool known_wrong(const Building *b, const char *path) {
        return b->chain->broken || problems_at(b->problems, NULL, path);
}

static void require(const Building *b, const char *path, const char *value, const char *what) {
        if (!value && !known_wrong(b, path))
                problems_add(b->problems, b->file, path, "missing: %s", what);
}

static int copy_string(json_object *o, const char *key, const char *fallback, char **ret) {
        const char *s = json_get_string(o, key);

        if (!s)
                s = fallback;
        return !s || (*ret = strdup(s)) ? 0 : -ENOMEM;
}

static int copy_list(json_object *o, const char *key, const char *fallback, char ***ret) {
        if (!json_get(o, key) && fallback)
                return strv_extend(ret, fallback);
        return schema_get_strv(o, key, ret);
}

static int merge_chain(Building *b) {
        Problems unheard _cleanup_problems_ = {};

        for (size_t i = b->chain->n; i > 0; i--) {
                const RecipeFile *f = &b->chain->files[i - 1];
                int r;

                if (base_image_prepare(b, f) < 0 || base_el_prepare(f) < 0)
                        return -ENOMEM;
                /* Without the file that a "-x" refers to, nobody can say whether it is right. */
                r = merge_recipe(b->chain->broken ? &unheard : b->problems, f->shown, b->merged,
                                f->json);

                if (r < 0 || strv_extend(&b->recipe->sources, f->path) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int build_name(Building *b) {
        const RecipeFile *f = &b->chain->files[0];
        _cleanup_free_ char *folder = path_folder(f->path), *stem = recipe_stem(f->path);
        Recipe *r = b->recipe;

        r->path = strdup(f->path);
        /* A file that is not called NAME.json has been reported; something must stand here until
         * that is told. */
        r->name = strdup(stem ? stem : path_basename(f->path));
        if (!folder || !r->path || !r->name)
                return -ENOMEM;
        r->lock_path = lock_place(folder, r->name);
        r->support_fail = streq_ptr(json_get_string(b->merged, "support"), "fail");
        r->kind = streq_ptr(json_get_string(b->merged, "kind"), "tree") ? RECIPE_TREE : RECIPE_DISK;
        return r->lock_path ? 0 : -ENOMEM;
}

bool distro_family(const char *name, Family *ret) {
        for (const Distro *d = distros; d->name; d++) {
                if (!streq_ptr(d->name, name))
                        continue;
                *ret = d->family;
                return true;
        }
        return false;
}

static int build_distro(Building *b, json_object *base) {
        const char *distro = json_get_string(base, "distro");
        Recipe *r = b->recipe;

        if (known_wrong(b, "$.base.image"))
                return 0;
        if (json_get(base, "sha256") || json_get(base, "root") || json_get(base, "signature"))
                problems_add(b->problems, b->file, "$.base",
                                "\"sha256\", \"signature\" and \"root\" go with \"image\"");
        require(b, "$.base.distro", distro, "debian, ubuntu, oracle, rhel, rocky or alma");
        require(b, "$.base.release", json_get_string(base, "release"),
                        "a release, as trixie or noble");
        (void) distro_family(distro, &r->family);
        if (copy_string(base, "distro", NULL, &r->base.distro) < 0 ||
                        copy_string(base, "release", NULL, &r->base.release) < 0 ||
                        copy_list(base, "packages", NULL, &r->base.packages) < 0)
                return -ENOMEM;
        return r->family == FAMILY_EL ? base_el_build(b, base) : base_el_refuse(b, base);
}

static int build_base(Building *b) {
        json_object *base = json_get(b->merged, "base");
        Recipe *r = b->recipe;

        if (copy_string(base, "mirror", NULL, &r->base.mirror) < 0 ||
                        copy_list(base, "components", "main", &r->base.components) < 0)
                return -ENOMEM;
        if (!r->base.components && !known_wrong(b, "$.base.components"))
                problems_add(b->problems, b->file, "$.base.components",
                                "is empty: there would be no packages");
        return json_get(base, "image") ? base_image_build(b, base) : build_distro(b, base);
}

/* What the vendor's disk has already, and boots by. */
static void check_kept(Building *b, json_object *kernel, json_object *disk) {
        const struct {
                json_object *in;
                const char *key, *path, *why;
        } not_kept[] = {
                { kernel, "package", "$.kernel.package",
                                "the vendor's boot loader starts the image's own kernel: leave it out, or \"layout\": \"keep\"" },
                { kernel, "cmdline", "$.kernel.cmdline",
                                "the vendor's boot loader has a command line of its own: leave it out, or \"layout\": \"keep\"" },
                { disk, "filesystem", "$.disk.filesystem",
                                "is the vendor's with \"layout\": \"keep\": leave it out" },
                { disk, "firmware", "$.disk.firmware",
                                "is the vendor's with \"layout\": \"keep\": leave it out" },
        };

        if (!b->recipe->base.image) {
                problems_add(b->problems, b->file, "$.disk.layout",
                                "\"keep\" keeps the disk of a vendor's image, and there is no base.image");
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(not_kept); i++)
                if (json_get(not_kept[i].in, not_kept[i].key))
                        problems_add(b->problems, b->file, not_kept[i].path, "%s", not_kept[i].why);
}

static int build_disk(Building *b) {
        json_object *kernel = json_get(b->merged, "kernel"), *disk = json_get(b->merged, "disk");
        const char *size = json_get_string(disk, "size");
        Recipe *r = b->recipe;

        if (r->kind == RECIPE_TREE) {
                if (kernel)
                        problems_add(b->problems, b->file, "$.kernel",
                                        "a tree (\"kind\") has no kernel");
                if (disk)
                        problems_add(b->problems, b->file, "$.disk",
                                        "a tree (\"kind\") has no disk");
        } else if (!r->base.image)
                require(b, "$.kernel.package", json_get_string(kernel, "package"),
                                "the package of the kernel, as linux-image-amd64");
        if (size)
                parse_disk_size(size, &r->disk.size);
        r->disk.keep = streq_ptr(json_get_string(disk, "layout"), "keep");
        if (r->disk.keep)
                check_kept(b, kernel, disk);
        r->limits = limits_from_json(json_get(b->merged, "limits"));
        if (copy_string(kernel, "package", NULL, &r->kernel.package) < 0 ||
                        copy_string(kernel, "cmdline", "", &r->kernel.cmdline) < 0 ||
                        schema_get_strv(kernel, "options", &r->kernel.options) < 0 ||
                        copy_string(disk, "filesystem", "ext4", &r->disk.filesystem) < 0 ||
                        copy_list(disk, "firmware", "uefi", &r->disk.firmware) < 0 ||
                        copy_list(disk, "formats", "qcow2", &r->disk.formats) < 0)
                return -ENOMEM;
        if (!r->disk.firmware && !known_wrong(b, "$.disk.firmware"))
                problems_add(b->problems, b->file, "$.disk.firmware",
                                "is empty: nothing could boot it");
        if (!r->disk.formats && !known_wrong(b, "$.disk.formats"))
                problems_add(b->problems, b->file, "$.disk.formats",
                                "is empty: there would be no image");
        return 0;
}

static int build_node(Building *b) {
        _cleanup_json_ json_object *node = json_object_new_object();
        json_object *own = json_get(b->merged, "node");
        Recipe *recipe = b->recipe;

        if (!node)
                return -ENOMEM;
        for (size_t i = 0; i < recipe->n_overlays; i++)
                if (recipe->overlays[i]->node && merge_layer(node, recipe->overlays[i]->node) < 0)
                        return -ENOMEM;
        if (own && merge_layer(node, own) < 0)
                return -ENOMEM;
        if (json_object_object_length(node) > 0)
                recipe->node = TAKE_PTR(node);
        if (node_steps_check(b->problems, recipe) < 0)
                return -ENOMEM;
        return node_config_check(b->problems, recipe, b->file, own);
}

static int build_arch_and_packages(Building *b) {
        json_object *base = json_get(b->merged, "base");

        if (copy_string(base, "arch", "amd64", &b->recipe->base.arch) < 0)
                return -ENOMEM;
        return schema_get_strv(b->merged, "packages", &b->recipe->packages);
}

/* Of a vendor's image the lock tells later which release it is. */
static int build_release(Building *b) {
        return recipe_expand_release(b->recipe);
}

static int build_recipe(Problems *problems, const RecipeChain *chain, const char *file,
                char *const *overlay_dirs, Recipe *recipe) {
        static int (*const builders[])(Building *) = {
                merge_chain,
                build_name,
                build_arch_and_packages,
                build_base,
                build_disk,
                build_overlays,
                build_release,
                build_secrets,
                build_node,
        };
        _cleanup_json_ json_object *merged = json_object_new_object();
        Building b = {
                .problems = problems,
                .chain = chain,
                .file = file,
                .overlay_dirs = overlay_dirs,
                .recipe = recipe,
                .merged = merged,
        };

        if (!merged)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(builders); i++) {
                int r = builders[i](&b);

                if (r < 0)
                        return r;
        }
        return 0;
}

int recipe_load(const char *path, char *const *overlay_dirs, Recipe **ret) {
        _cleanup_problems_ Problems problems = {};
        _cleanup_recipe_free_ Recipe *recipe = calloc(1, sizeof(*recipe));
        _cleanup_chain_ RecipeChain chain = {};
        int r, wrong;

        if (!recipe)
                return log_oom();
        if (access(path, R_OK) < 0 && errno == EACCES)
                return log_error_errno(-errno, "%s: cannot read it", path);
        r = chain_load(&problems, path, &chain);
        /* Without what it extends, everything would seem to be missing. */
        if (r == 0 && chain.n > 0 && !problems_at(&problems, NULL, "$.extends"))
                r = build_recipe(&problems, &chain, path, overlay_dirs, recipe);
        wrong = problems_log(&problems);
        if (r == -ENOMEM || wrong == -ENOMEM)
                return log_oom();
        if (r < 0 || wrong < 0)
                return r < 0 ? r : wrong;
        *ret = TAKE_PTR(recipe);
        return 0;
}
