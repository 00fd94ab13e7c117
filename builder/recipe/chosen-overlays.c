/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which overlays a recipe has: named, taken away, looked for, and whether they get on with one
 * another. */

#include "recipe/building.h"
#include "recipe/order.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <sys/stat.h>

typedef struct OverlayRefs {
        OverlayRef *refs;
        size_t n;
} OverlayRefs;

static void refs_done(OverlayRefs *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->refs[i].path);
        free(l->refs);
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
                if (!up)
                        return NULL;
                if (streq(up, ".") && *folder != '.')
                        return strdup("overlays");
                return path_join(up, "overlays");
        }
        return path_join(folder, "../overlays");
}

static bool same_folder(const char *a, const char *b) {
        _cleanup_free_ char *one = realpath(a, NULL), *two = realpath(b, NULL);

        return one && two && streq(one, two);
}

/* Those of the recipe itself come first; a recipe that it extends brings its own, where there are
 * any. */
static int add_chain_dirs(const RecipeChain *c, char ***dirs) {
        for (size_t i = 0; i < c->n; i++) {
                _cleanup_free_ char *dir = overlays_beside(c->files[i].shown);
                bool known = false;

                if (!dir)
                        return -ENOMEM;
                STRV_FOREACH (other, *dirs)
                        known = known || same_folder(*other, dir);
                if (known || (i > 0 && access(dir, F_OK) < 0))
                        continue;
                if (strv_push(dirs, TAKE_PTR(dir)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* *ret_n: how many of them are the recipes' own. */
static int default_dirs(const RecipeChain *c, char ***ret, size_t *ret_n) {
        _cleanup_strv_free_ char **dirs = NULL;
        size_t n;

        if (add_chain_dirs(c, &dirs) < 0)
                return -ENOMEM;
        n = strv_length(dirs);
        if (!strv_contains(dirs, DATADIR "/overlays") &&
                        strv_extend(&dirs, DATADIR "/overlays") < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(dirs);
        *ret_n = n;
        return 0;
}

/* An overlay of the site's takes the place of another of its name, for those that require it too:
 * told, because nobody may have meant it. */
static int tell_namesakes(const Recipe *r, char *const *dirs, size_t n) {
        for (size_t i = 0; i < r->n_overlays; i++) {
                const Overlay *o = r->overlays[i];

                for (size_t k = 0; k < n; k++) {
                        _cleanup_free_ char *file = strf("%s/%s/overlay.json", dirs[k], o->name);

                        if (!file)
                                return -ENOMEM;
                        if (access(file, F_OK) < 0 || same_folder(file, o->file))
                                continue;
                        log_warning("%s is taken for overlay \"%s\", not %s of the recipe that is extended; rename yours if you want both",
                                        o->file, o->name, file);
                }
        }
        return 0;
}

static int find_refs(const RecipeChain *c, char *const *named, OverlayRefs *l) {
        l->refs = calloc(strv_length(named) + 1, sizeof(*l->refs));
        if (!l->refs)
                return -ENOMEM;
        STRV_FOREACH (name, named) {
                OverlayRef *ref = &l->refs[l->n++];
                int r;

                ref->name = *name;
                r = find_ref(c, *name, ref);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The one of the overlay's repositories that is another than `wanted` and has its name. */
static const Repository *find_namesake(const Overlay *o, const Repository *wanted) {
        for (size_t i = 0; i < o->n_repositories; i++) {
                const Repository *q = &o->repositories[i];

                if (streq(q->name, wanted->name) &&
                                (!streq_ptr(q->uri, wanted->uri) ||
                                                !streq_ptr(q->suite, wanted->suite)))
                        return q;
        }
        return NULL;
}

static void compare_repositories(const Building *b, const Overlay *one, const Overlay *two) {
        for (size_t i = 0; i < two->n_repositories; i++)
                if (find_namesake(one, &two->repositories[i]))
                        problems_add(b->problems, b->file, "$.overlays",
                                        "overlays \"%s\" and \"%s\" mean different repositories by \"%s\"; rename one",
                                        one->name, two->name, two->repositories[i].name);
}

/* Two overlays may share a repository, but not a name for different ones: the later file would
 * win. */
static void check_repositories(const Building *b) {
        const Recipe *r = b->recipe;

        for (size_t i = 0; i < r->n_overlays; i++)
                for (size_t j = 0; j < i; j++)
                        compare_repositories(b, r->overlays[j], r->overlays[i]);
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

/* Whether an overlay that `o` requires, or itself, fills an environment. */
static bool has_environment(const Recipe *r, const Overlay *o) {
        for (size_t i = 0; i < r->n_overlays; i++)
                if (r->overlays[i]->python.environment && recipe_overlay_needs(o, r->overlays[i]))
                        return true;
        return false;
}

static void check_compile_places(const Building *b) {
        const Recipe *r = b->recipe;

        for (size_t i = 0; i < r->n_overlays; i++) {
                const Overlay *o = r->overlays[i];

                for (size_t k = 0; k < o->n_compile; k++)
                        if (o->compile[k].on == COMPILE_ON_PYTHON && !has_environment(r, o))
                                problems_add(b->problems, b->file, "$.overlays",
                                                "overlay \"%s\" compiles on a Python environment, and neither it nor what it requires has one: name that overlay in its \"requires\"",
                                                o->name);
        }
}

const char *recipe_interpreter(const Recipe *recipe, const char *environment) {
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                const Python *p = &recipe->overlays[i]->python;

                if (streq_ptr(p->environment, environment) && p->interpreter)
                        return p->interpreter;
        }
        return "python3";
}

/* One environment is of one Python. */
static void check_interpreters(const Building *b) {
        const Recipe *r = b->recipe;

        for (size_t i = 0; i < r->n_overlays; i++) {
                const Overlay *o = r->overlays[i];
                const char *first = o->python.environment
                                                    ? recipe_interpreter(r, o->python.environment)
                                                    : NULL;

                if (o->python.interpreter && !streq(first, o->python.interpreter))
                        problems_add(b->problems, b->file, "$.overlays",
                                        "overlay \"%s\" has %s for the environment %s, and another one has %s: say one of them in both, or give one of them an environment of its own",
                                        o->name, o->python.interpreter, o->python.environment,
                                        first);
        }
}

int build_overlays(Building *b) {
        _cleanup_strv_free_ char **dirs = NULL, **named = NULL, **removed = NULL;
        _cleanup_(refs_done) OverlayRefs refs = {};
        Recipe *recipe = b->recipe;
        size_t n_own = 0;
        int r;

        if (!b->overlay_dirs && default_dirs(b->chain, &dirs, &n_own) < 0)
                return -ENOMEM;
        if (schema_get_strv(b->merged, "overlays", &named) < 0 ||
                        find_removed(b->chain, named, &removed) < 0)
                return -ENOMEM;
        r = find_refs(b->chain, named, &refs);
        if (r < 0)
                return r;

        OverlayContext ctx = {
                .dirs = b->overlay_dirs ? b->overlay_dirs : dirs,
                .family = recipe->family,
                .arch = recipe->base.arch,
        };
        r = order_overlays(b->problems, &ctx, refs.refs, refs.n, removed, &recipe->overlays,
                        &recipe->n_overlays);
        if (r < 0)
                return r;

        for (size_t i = 0; i < recipe->n_overlays; i++) {
                char *source = path_join(recipe->overlays[i]->path, "overlay.json");

                if (strv_push(&recipe->sources, source) < 0)
                        return -ENOMEM;
        }
        check_repositories(b);
        check_kernel_wanted(b);
        check_compile_places(b);
        check_interpreters(b);
        return tell_namesakes(recipe, dirs, n_own);
}
