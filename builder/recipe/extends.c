/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The chain of files that a recipe is made of: it, what it extends, and so on. */

#include "recipe/extends.h"
#include "shared/file-util.h"
#include "common/data-folder.h"
#include "recipe/formats.h"
#include "recipe/other-file.h"
#include "recipe/patterns.h"
#include "shared/suggest.h"

#include "shared/folder.h"
#include <limits.h>
#include <unistd.h>

char *recipe_stem(const char *path) {
        const char *name = path_basename(path);

        return endswith(name, ".json") ? strndup(name, strlen(name) - strlen(".json")) : NULL;
}

/* That of a recipe that imgbuild brings. */
static char *shipped_path(const char *name) {
        _cleanup_free_ char *data = data_folder();

        return data ? strf("%s/images/%s.json", data, name) : NULL;
}

/* Path of the recipe that `file` extends, as messages should show it. */
static char *extended_path(const char *file, const char *extends) {
        _cleanup_free_ char *folder = path_folder(file);
        const char *shipped = startswith(extends, SHIPPED_PREFIX);
        bool is_path = strchr(extends, '/') || endswith(extends, ".json");

        if (!folder)
                return NULL;
        if (shipped)
                return shipped_path(shipped);
        if (streq(folder, "."))
                return strf("%s%s", extends, is_path ? "" : ".json");
        return strf("%s/%s%s", folder, extends, is_path ? "" : ".json");
}

/* Names of the recipes in the folder of `path`, for suggestions. */
static char **recipe_names(const char *path) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *folder = path_folder(path);
        _cleanup_closedir_ DIR *d = NULL;

        if (!folder || folder_open(folder, &d) < 0)
                return NULL;
        FOLDER_FOREACH (name, d) {
                _cleanup_free_ char *stem = recipe_stem(name);

                if (stem && *stem != '.' && !endswith(stem, ".lock") &&
                                strv_extend(&names, stem) < 0)
                        break;
        }
        strv_sort(names);
        return TAKE_PTR(names);
}

/* A recipe that was named by less than its path: "site-node" for images/site-node.json. "; did you
 * mean …", or "" where none is there. NULL on out of memory. */
static char *suggest_path(const char *path) {
        const char *base = path_basename(path), *end = endswith(base, ".json") ? "" : ".json";
        _cleanup_free_ char *beside = strf("%s%s", path, end),
                            *usual = strf("images/%s%s", base, end);

        if (!beside || !usual)
                return NULL;
        if (*end && access(beside, F_OK) >= 0)
                return strf("; did you mean %s?", beside);
        if (access(usual, F_OK) >= 0)
                return strf("; did you mean %s?", usual);
        return strdup("");
}

/* Extended by its bare name, as if it were beside the file: one that imgbuild brings. */
static char *suggest_shipped(const char *stem) {
        _cleanup_free_ char *shipped = stem ? shipped_path(stem) : NULL;

        if (!shipped || access(shipped, F_OK) < 0)
                return strdup("");
        return strf("; imgbuild brings one of that name: \"" SHIPPED_PREFIX "%s\"", stem);
}

/* The recipe `path`, which `file` extends (NULL: which the command line names), is not there. */
static void report_missing(Problems *p, const char *file, const char *path) {
        _cleanup_strv_free_ char **names = recipe_names(path);
        _cleanup_free_ char *stem = recipe_stem(path),
                            *suggestion = file ? suggest_shipped(stem) : suggest_path(path);

        if (isempty(suggestion)) {
                free(suggestion);
                suggestion = suggest_text(stem ? stem : path_basename(path), names);
        }
        if (file)
                problems_add(p, file, "$.extends", "there is no recipe %s%s", path,
                                strempty(suggestion));
        else
                problems_add(p, path, NULL, "there is no such recipe%s", strempty(suggestion));
}

static int report_cycle(Problems *p, const RecipeChain *c, size_t first) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *chain = NULL;

        for (size_t i = first; i <= c->n; i++)
                if (strv_extend(&names, c->files[i == c->n ? first : i].shown) < 0)
                        return -ENOMEM;
        chain = strv_join(names, " → ");
        if (!chain)
                return -ENOMEM;
        problems_add(p, c->files[c->n - 1].shown, "$.extends",
                        "recipes extend each other in a circle: %s", chain);
        return 0;
}

static void check_file(Problems *p, const RecipeFile *f) {
        const char *name = json_get_string(f->json, "name"), *base = path_basename(f->shown);
        _cleanup_free_ char *stem = recipe_stem(base);

        if (!stem)
                problems_add(p, f->shown, NULL, "a recipe's file name ends in .json");
        else if (name && !streq(name, stem))
                problems_add(p, f->shown, "$.name",
                                "\"%s\" differs from the file's name; write \"%s\"", name, stem);
}

static void file_done(RecipeFile *f) {
        free(f->shown);
        free(f->path);
        free(f->real);
        json_object_put(f->json);
        *f = (RecipeFile) {};
}

/* Appends `path` to the chain; -EINVAL where the chain ends here because of what has been added to
 * p. */
static int add_file(Problems *p, RecipeChain *c, const char *path) {
        _cleanup_(file_done) RecipeFile f = { .shown = strdup(path) };
        _cleanup_free_ char *folder = path_folder(path), *resolved = NULL;
        const OtherFile *other;
        RecipeFile *grown;
        int r;

        if (!f.shown || !folder)
                return -ENOMEM;
        r = schema_load(p, path, &f.json);
        if (r < 0)
                return r;
        resolved = realpath(folder, NULL);
        f.real = realpath(path, NULL);
        if (!resolved || !f.real) {
                problems_add(p, path, NULL, "cannot read it: %s", strerror(errno));
                return -EINVAL;
        }
        f.path = path_join(resolved, path_basename(path));
        if (!f.path)
                return -ENOMEM;
        for (size_t i = 0; i < c->n; i++)
                if (streq(c->files[i].real, f.real))
                        return report_cycle(p, c, i) < 0 ? -ENOMEM : -EINVAL;

        other = other_file_find(f.json);
        /* With a name it is one that has a key too many. */
        if (other && other->kind != OTHER_RECIPE &&
                        (other->kind != OTHER_OVERLAY || !json_get(f.json, "name"))) {
                problems_add(p, path, NULL, "is %s, not a recipe: %s", other->what, other->remedy);
                return -EINVAL;
        }
        if (json_object_object_length(f.json) > 0 && !schema_has_key(recipe_keys, f.json)) {
                problems_add(p, path, NULL,
                                "is no recipe: it has none of a recipe's keys (name, extends, base, overlays, …); 'imgbuild check --node' takes node configuration");
                return -EINVAL;
        }
        schema_validate(p, path, recipe_keys, f.json, json_get(f.json, "extends") != NULL);
        check_file(p, &f);

        grown = reallocarray(c->files, c->n + 1, sizeof(RecipeFile));
        if (!grown)
                return -ENOMEM;
        c->files = grown;
        c->files[c->n++] = f;
        f = (RecipeFile) {};
        return 0;
}

int chain_load(Problems *p, const char *path, RecipeChain *ret) {
        _cleanup_chain_ RecipeChain c = {};
        _cleanup_free_ char *next = strdup(path);

        if (!next)
                return -ENOMEM;
        while (next) {
                _cleanup_free_ char *current = TAKE_PTR(next);
                const RecipeFile *last = c.n > 0 ? &c.files[c.n - 1] : NULL;
                const char *extends;
                int r = add_file(p, &c, current);

                if (r == -ENOENT)
                        report_missing(p, last ? last->shown : NULL, current);
                if (r == -ENOMEM)
                        return r;
                if (r < 0) {
                        c.broken = true;
                        break;
                }
                extends = json_get_string(c.files[c.n - 1].json, "extends");
                if (extends && !(next = extended_path(current, extends)))
                        return -ENOMEM;
        }
        *ret = c;
        c = (RecipeChain) {};
        return 0;
}

void chain_done(RecipeChain *c) {
        for (size_t i = 0; i < c->n; i++)
                file_done(&c->files[i]);
        free(c->files);
        *c = (RecipeChain) {};
}
