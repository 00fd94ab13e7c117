/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a recipe bakes into /etc/firstboot/node.json, checked with the file that each fault is
 * in. */

#include "recipe/node-config.h"
#include "contract/config-schema.h"
#include "contract/zone.h"
#include "shared/log.h"
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

/* Those of a site's steps, and those that may be. */
static int free_sections(json_object *values, char *const *steps, char ***ret) {
        _cleanup_strv_free_ char **known = NULL, **l = NULL;
        int r;

        r = known_sections(&known);
        if (r < 0)
                return r;
        if (strv_extend_strv(&known, steps) < 0 || strv_extend_strv(&l, steps) < 0)
                return -ENOMEM;
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

int node_config_finish(Config *c, char *const *steps) {
        _cleanup_strv_free_ char **sections = NULL;
        int r;

        STRV_FOREACH (w, c->warnings)
                log_warning("%s", *w);
        r = free_sections(c->values, steps, &sections);
        return r < 0 ? r : config_finish(c, sections);
}

int node_config_unknown_zone(const Config *c, char **ret) {
        _cleanup_free_ char *hint = NULL;
        const char *zone;
        int r;

        *ret = NULL;
        r = zone_look_up(c, ZONES, &zone, &hint);
        if (r != 0)
                return r == -ENOMEM ? r : 0;
        *ret = strf("no time zone \"%s\" in this machine's tzdata%s", zone, hint);
        return *ret ? 0 : -ENOMEM;
}

static int warn_of_zone(const Config *c) {
        const char *file = json_get_string(c->sources, "host.timezone");
        _cleanup_free_ char *unknown = NULL;
        int r;

        r = node_config_unknown_zone(c, &unknown);
        if (r < 0)
                return r;
        if (unknown)
                log_warning("%s: $.node.host.timezone: %s", strempty(file), unknown);
        return 0;
}

bool node_config_add_problem(
                Problems *p, char *const *files, const char *prefix, const char *error) {
        STRV_FOREACH (f, files) {
                const char *rest = startswith(error, *f), *what;
                _cleanup_free_ char *path = NULL;

                rest = rest ? startswith(rest, ": ") : NULL;
                if (!rest)
                        continue;
                what = strstr(rest, ": ");
                if (!what) {
                        problems_add(p, *f, NULL, "%s%s", prefix, rest);
                        return true;
                }
                path = strf("%s%.*s", prefix, (int) (what - rest), rest);
                if (path)
                        problems_add(p, *f, path, "%s", what + 2);
                else
                        p->oom = true;
                return true;
        }
        return false;
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
        _cleanup_strv_free_ char **files = NULL, **steps = NULL;
        int r;

        if (!c)
                return -ENOMEM;
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];

                for (size_t k = 0; k < o->n_steps; k++)
                        if (strv_extend(&steps, o->steps[k].name) < 0)
                                return -ENOMEM;
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

        r = node_config_finish(c, steps);
        if (r < 0)
                return r;
        STRV_FOREACH (e, c->errors)
                if (!node_config_add_problem(p, files, "$.node.", *e))
                        problems_add(p, file, NULL, "$.node: %s", *e);
        return warn_of_zone(c);
}
