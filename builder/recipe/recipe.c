/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a recipe's file to the Recipe that the other rooms read: extended, merged, its overlays
 * loaded and ordered. Everything that is wrong is gathered on the way and told at the end. */

#include "recipe/recipe.h"
#include "recipe/extends.h"
#include "shared/file-util.h"
#include "recipe/formats.h"
#include "shared/log.h"
#include "recipe/merge.h"
#include "recipe/order.h"
#include "recipe/patterns.h"

#include <sys/stat.h>

/* For messages about the merged recipe: the file that the person named. */
typedef struct Building {
        Problems *problems;
        const RecipeChain *chain;
        const char *file;
        Recipe *recipe;
        json_object *merged;
} Building;

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

        b->merged = json_object_new_object();
        if (!b->merged)
                return -ENOMEM;
        for (size_t i = b->chain->n; i > 0; i--) {
                const RecipeFile *f = &b->chain->files[i - 1];
                /* Without the file that a "-x" refers to, nobody can say whether it is right. */
                int r = merge_recipe(b->chain->broken ? &unheard : b->problems, f->shown, b->merged,
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
        r->lock_path = strf("%s/%s.lock.json", streq(folder, "/") ? "" : folder, r->name);
        r->kind = streq_ptr(json_get_string(b->merged, "kind"), "tree") ? RECIPE_TREE : RECIPE_DISK;
        return r->lock_path ? 0 : -ENOMEM;
}

static int build_base(Building *b) {
        json_object *base = json_get(b->merged, "base");
        const char *distro = json_get_string(base, "distro");
        Recipe *r = b->recipe;

        if (json_get(base, "image")) {
                problems_add(b->problems, b->file, "$.base.image",
                                "importing a vendor's image is not built yet; name \"distro\" and \"release\" instead");
                return 0;
        }
        if (json_get(base, "sha256") || json_get(base, "signature"))
                problems_add(b->problems, b->file, "$.base",
                                "\"sha256\" and \"signature\" go with \"image\", which is not built yet");
        require(b, "$.base.distro", distro, "debian or ubuntu");
        require(b, "$.base.release", json_get_string(base, "release"),
                        "a release, as trixie or noble");
        for (const Distro *d = distros; d->name; d++)
                if (streq_ptr(d->name, distro))
                        r->family = d->family;
        if (r->family != FAMILY_DEBIAN)
                problems_add(b->problems, b->file, "$.base.distro",
                                "building %s (family el) is not built yet; use debian or ubuntu",
                                distro);
        if (copy_string(base, "distro", NULL, &r->base.distro) < 0 ||
                        copy_string(base, "release", NULL, &r->base.release) < 0 ||
                        copy_string(base, "mirror", NULL, &r->base.mirror) < 0 ||
                        copy_list(base, "components", "main", &r->base.components) < 0 ||
                        copy_list(base, "packages", NULL, &r->base.packages) < 0)
                return -ENOMEM;
        if (!r->base.components && !known_wrong(b, "$.base.components"))
                problems_add(b->problems, b->file, "$.base.components",
                                "is empty: there would be no packages");
        return 0;
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
        } else
                require(b, "$.kernel.package", json_get_string(kernel, "package"),
                                "the package of the kernel, as linux-image-amd64");
        if (size)
                parse_disk_size(size, &r->disk.size);
        if (copy_string(kernel, "package", NULL, &r->kernel.package) < 0 ||
                        copy_string(kernel, "cmdline", "", &r->kernel.cmdline) < 0 ||
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

/* Where in the chain an overlay is named: the recipe's own word comes before that of what it
 * extends. */
static int find_ref(const RecipeChain *c, const char *name, OverlayRef *ret) {
        for (size_t i = 0; i < c->n; i++) {
                json_object *list = json_get(c->files[i].json, "overlays");

                for (size_t k = 0; list && k < json_object_array_length(list); k++) {
                        const char *text =
                                        json_object_get_string(json_object_array_get_idx(list, k));

                        if (!streq_ptr(text, name))
                                continue;
                        ret->file = c->files[i].shown;
                        return (ret->path = strf("$.overlays[%zu]", k)) ? 0 : -ENOMEM;
                }
        }
        return -ENOENT;
}

/* Names that some file of the chain takes away and that no later file brings back. */
static int find_removed(const RecipeChain *c, char *const *named, char ***ret) {
        for (size_t i = 0; i < c->n; i++) {
                _cleanup_strv_free_ char **list = NULL;

                if (schema_get_strv(c->files[i].json, "overlays", &list) < 0)
                        return -ENOMEM;
                STRV_FOREACH (item, list)
                        if (**item == '-' && !strv_contains(named, *item + 1) &&
                                        strv_extend(ret, *item + 1) < 0)
                                return -ENOMEM;
        }
        return 0;
}

/* "../overlays" beside the recipe's folder, written as short as it can be. */
static char *overlays_beside(const char *recipe) {
        _cleanup_free_ char *folder = path_folder(recipe), *up = NULL;
        const char *name = folder ? path_basename(folder) : NULL;
        struct stat st;

        if (!folder)
                return NULL;
        if (streq(folder, "."))
                return strdup("../overlays");
        if (*name && !streq(name, ".") && !streq(name, "..") && lstat(folder, &st) >= 0 &&
                        S_ISDIR(st.st_mode)) {
                up = path_folder(folder);
                return !up                                ? NULL
                       : streq(up, ".") && *folder != '.' ? strdup("overlays")
                                                          : path_join(up, "overlays");
        }
        return path_join(folder, "../overlays");
}

static int default_dirs(const char *recipe, char ***ret) {
        _cleanup_strv_free_ char **dirs = NULL;

        if (strv_push(&dirs, overlays_beside(recipe)) < 0 ||
                        strv_extend(&dirs, DATADIR "/overlays") < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(dirs);
        return 0;
}

/* Two overlays may share a repository, but not a name for different ones: the later file would
 * win. */
static void check_repositories(const Building *b) {
        const Recipe *r = b->recipe;

        for (size_t i = 0; i < r->n_overlays; i++)
                for (size_t k = 0; k < r->overlays[i]->n_repositories; k++)
                        for (size_t j = 0; j < i; j++)
                                for (size_t l = 0; l < r->overlays[j]->n_repositories; l++) {
                                        const Repository *one = &r->overlays[j]->repositories[l];
                                        const Repository *two = &r->overlays[i]->repositories[k];

                                        if (streq(one->name, two->name) &&
                                                        (!streq(one->uri, two->uri) ||
                                                                        !streq_ptr(one->suite,
                                                                                        two->suite)))
                                                problems_add(b->problems, b->file, "$.overlays",
                                                                "overlays \"%s\" and \"%s\" mean different repositories by \"%s\"; rename one",
                                                                r->overlays[j]->name,
                                                                r->overlays[i]->name, one->name);
                                }
}

static bool wants_kernel(char *const *packages) {
        STRV_FOREACH (package, packages)
                if (strstr(*package, "${kernel}"))
                        return true;
        return false;
}

/* A tree has no kernel whose release could stand for "${kernel}". */
static void check_kernel_wanted(const Building *b) {
        const Recipe *r = b->recipe;

        if (r->kind != RECIPE_TREE)
                return;
        if (wants_kernel(r->packages))
                problems_add(b->problems, b->file, "$.packages",
                                "a tree has no kernel for ${kernel}");
        for (size_t i = 0; i < r->n_overlays; i++) {
                const Overlay *o = r->overlays[i];
                bool wants = wants_kernel(o->packages);

                for (size_t k = 0; k < o->n_compile; k++)
                        wants = wants || wants_kernel(o->compile[k].packages);
                if (wants)
                        problems_add(b->problems, b->file, "$.overlays",
                                        "overlay \"%s\" needs a kernel (\"${kernel}\"), and a tree has none",
                                        o->name);
        }
}

static void refs_free(OverlayRef *refs, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(refs[i].path);
        free(refs);
}

static int build_overlays(Building *b, char *const *overlay_dirs) {
        _cleanup_strv_free_ char **dirs = NULL, **named = NULL, **removed = NULL;
        Recipe *recipe = b->recipe;
        OverlayRef *refs;
        int r;

        if (!overlay_dirs && default_dirs(b->file, &dirs) < 0)
                return -ENOMEM;
        if (schema_get_strv(b->merged, "overlays", &named) < 0 ||
                        find_removed(b->chain, named, &removed) < 0)
                return -ENOMEM;

        size_t n = strv_length(named);
        refs = calloc(n + 1, sizeof(*refs));
        if (!refs)
                return -ENOMEM;
        r = 0;
        for (size_t i = 0; i < n && r >= 0; i++) {
                refs[i].name = named[i];
                r = find_ref(b->chain, named[i], &refs[i]);
        }
        OverlayContext ctx = {
                .dirs = overlay_dirs ? overlay_dirs : dirs,
                .family = recipe->family,
                .arch = recipe->base.arch,
        };
        if (r >= 0)
                r = order_overlays(b->problems, &ctx, refs, n, removed, &recipe->overlays,
                                &recipe->n_overlays);
        refs_free(refs, n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                char *source = path_join(recipe->overlays[i]->path, "overlay.json");
                if (strv_push(&recipe->sources, source) < 0)
                        return -ENOMEM;
        }
        check_repositories(b);
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
        return 0;
}

static int build_recipe(Building *b, char *const *overlay_dirs) {
        int r;

        r = merge_chain(b);
        if (r >= 0)
                r = build_name(b);
        if (r >= 0)
                r = copy_string(json_get(b->merged, "base"), "arch", "amd64",
                                &b->recipe->base.arch);
        if (r >= 0)
                r = build_base(b);
        if (r >= 0)
                r = build_disk(b);
        if (r >= 0)
                r = build_overlays(b, overlay_dirs);
        if (r >= 0)
                r = schema_get_strv(b->merged, "packages", &b->recipe->packages);
        if (r >= 0)
                r = build_node(b);
        if (r >= 0)
                check_kernel_wanted(b);
        return r;
}

int recipe_load(const char *path, char *const *overlay_dirs, Recipe **ret) {
        _cleanup_problems_ Problems problems = {};
        _cleanup_recipe_free_ Recipe *recipe = calloc(1, sizeof(*recipe));
        _cleanup_chain_ RecipeChain chain = {};
        int r, wrong;

        if (!recipe)
                return log_oom();
        r = chain_load(&problems, path, &chain);
        if (r >= 0 && chain.n > 0) {
                Building b = {
                        .problems = &problems, .chain = &chain, .file = path, .recipe = recipe
                };

                r = build_recipe(&b, overlay_dirs);
                json_object_put(b.merged);
        }
        wrong = problems_log(&problems);
        if (r == -ENOMEM || wrong == -ENOMEM)
                return log_oom();
        if (r < 0 || wrong < 0)
                return r < 0 ? r : wrong;
        *ret = TAKE_PTR(recipe);
        return 0;
}
