/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a recipe bakes into /etc/firstboot/node.json, checked with the file that each fault is
 * in. */

#include "recipe/node-config.h"
#include "contract/config-schema.h"
#include "shared/suggest.h"

/* The sections that firstboot has. */
static int known_sections(char ***ret) {
        _cleanup_strv_free_ char **l = NULL;
        int r;

        for (size_t i = 0; i < config_keys_count; i++) {
                const char *name = config_key_in(&config_keys[i], "");

                if (!name || strv_contains(l, name))
                        continue;
                r = strv_extend(&l, name);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(l);
        return 0;
}

/* Sections that may be those of a site's steps. */
static int free_sections(json_object *values, char ***ret) {
        _cleanup_strv_free_ char **known = NULL, **l = NULL;
        int r;

        r = known_sections(&known);
        if (r < 0)
                return r;
        json_object_object_foreach (values, key, value) {
                (void) value;
                if (strv_contains(known, key) || suggest_nearest(key, known))
                        continue;
                r = strv_extend(&l, key);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(l);
        return 0;
}

int node_config_finish(Config *c) {
        _cleanup_strv_free_ char **sections = NULL;
        int r;

        r = free_sections(c->values, &sections);
        return r < 0 ? r : config_finish(c, sections);
}

/* "FILE: PATH: what", as contract has it, becomes a problem of FILE; what nobody's file gave, one
 * of the recipe's. */
static void add_problem(Problems *p, char *const *files, const char *file, const char *error) {
        STRV_FOREACH (f, files) {
                const char *rest = startswith(error, *f);

                if (rest && startswith(rest, ": ")) {
                        problems_add(p, *f, NULL, "$.node.%s", rest + 2);
                        return;
                }
        }
        problems_add(p, file, NULL, "$.node: %s", error);
}

/* Lays a layer over those before it and notes its file, which it takes. */
static int add_layer(Config *c, json_object *layer, char *file, char ***files) {
        int r;

        if (!file)
                return -ENOMEM;
        r = strv_push(files, file);
        return r < 0 ? r : config_merge(c, layer, file);
}

int node_config_check(Problems *p, const Recipe *recipe, const char *file, json_object *own) {
        _cleanup_config_ Config *c = config_new();
        _cleanup_strv_free_ char **files = NULL;
        int r;

        if (!c)
                return -ENOMEM;
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];

                if (!o->node)
                        continue;
                r = add_layer(c, o->node, strdup(o->file), &files);
                if (r < 0)
                        return r;
        }
        if (own) {
                r = add_layer(c, own, strdup(file), &files);
                if (r < 0)
                        return r;
        }
        if (!files)
                return 0;

        r = node_config_finish(c);
        if (r < 0)
                return r;
        STRV_FOREACH (e, c->errors)
                add_problem(p, files, file, *e);
        return 0;
}
