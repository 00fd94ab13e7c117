/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of shapes put together, and which of them a machine is. */

#include "steps/shape/shape.h"
#include "contract/paths.h"

#include <dirent.h>
#include <fnmatch.h>

#define FILE_MAX (1024 * 1024)

static int load_file(Shapes *s, const char *name, char **ret_error) {
        _cleanup_free_ char *path = fb_path(name);
        _cleanup_json_ json_object *document = NULL;
        JsonError e = {};
        int r;

        if (!path)
                return -ENOMEM;
        r = json_load(path, FILE_MAX, &e, &document);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                *ret_error = e.line > 0 ? strf("%s:%u:%u: %s", name, e.line, e.column, e.message)
                                        : strf("%s: %s", name, e.message);
                return *ret_error ? -EINVAL : -ENOMEM;
        }
        return shapes_add(s, document, name, ret_error);
}

int shapes_load(Shapes *ret, char **ret_error) {
        _cleanup_(shapes_done) Shapes s = {};
        _cleanup_free_ char *folder = fb_path(PATH_SITE_SHAPES);
        struct dirent **entries = NULL;
        int r;

        if (!folder)
                return -ENOMEM;
        r = load_file(&s, PATH_SHAPES, ret_error);
        if (r < 0)
                return r;
        int n = scandir(folder, &entries, NULL, alphasort);
        if (n < 0 && errno != ENOENT) {
                *ret_error = strf("%s: %s", PATH_SITE_SHAPES, strerror(errno));
                return *ret_error ? -EINVAL : -ENOMEM;
        }
        for (int i = 0; i < n; i++) {
                const char *name = entries[i]->d_name;
                _cleanup_free_ char *path = strf("%s/%s", PATH_SITE_SHAPES, name);

                if (r >= 0 && endswith(name, ".json") && name[0] != '.')
                        r = path ? load_file(&s, path, ret_error) : -ENOMEM;
                free(entries[i]);
        }
        free(entries);
        if (r < 0)
                return r;
        *ret = s;
        s = (Shapes) {};
        return 0;
}

const char *shape_source_name(ShapeSource s) {
        static const char *const names[] = {
                [SHAPE_BY_NAME] = "configuration",
                [SHAPE_BY_METADATA] = "metadata",
                [SHAPE_BY_DMI] = "firmware",
                [SHAPE_BY_GPUS] = "GPUs",
        };
        return names[s];
}

static bool matches(char *const *patterns, const char *text) {
        STRV_FOREACH (p, patterns)
                if (fnmatch(*p, text, 0) == 0)
                        return true;
        return false;
}

static bool gpus_fit(const Shape *s, const ShapeFacts *f) {
        return s->gpus > 0 && (unsigned) s->gpus == f->gpus &&
               matches(s->gpu_models, f->gpu_model) &&
               (f->nvlinks == 0 || s->nvlinks == SHAPE_NOT_SAID ||
                               (unsigned) s->nvlinks == f->nvlinks);
}

/* The only shape of the provider (NULL: those of none) that has such GPUs. */
static const Shape *find_by_gpus(const Shapes *s, const ShapeFacts *f, const char *provider,
                const Shape **ret_other) {
        const Shape *found = NULL;

        for (size_t i = 0; i < s->n; i++) {
                if (!streq_ptr(s->items[i].provider, provider) || !gpus_fit(&s->items[i], f))
                        continue;
                if (found)
                        *ret_other = &s->items[i];
                else
                        found = &s->items[i];
        }
        return found;
}

const Shape *shape_find(const Shapes *s, const ShapeFacts *f, ShapeSource *ret_by, char **ret_why) {
        const Shape *found = NULL, *other = NULL;
        ShapeSource by = SHAPE_BY_NAME;

        if (f->name) {
                for (size_t i = 0; !found && i < s->n; i++)
                        if (streq(s->items[i].name, f->name))
                                found = &s->items[i];
                if (!found)
                        *ret_why = strf("no shape is called \"%s\"", f->name);
        } else {
                by = SHAPE_BY_METADATA;
                for (size_t i = 0; !found && f->instance && i < s->n; i++)
                        if (strv_contains(s->items[i].instance, f->instance) ||
                                        streq(s->items[i].name, f->instance))
                                found = &s->items[i];
                if (!found)
                        by = SHAPE_BY_DMI;
                for (size_t i = 0; !found && f->product && i < s->n; i++)
                        if (matches(s->items[i].dmi, f->product))
                                found = &s->items[i];
                if (!found)
                        by = SHAPE_BY_GPUS;
                if (!found && f->gpu_model && f->gpus > 0) {
                        if (f->provider)
                                found = find_by_gpus(s, f, f->provider, &other);
                        if (!found)
                                found = find_by_gpus(s, f, NULL, &other);
                }
                if (other) {
                        *ret_why = strf("%u × %s may be %s or %s", f->gpus, f->gpu_model,
                                        found->name, other->name);
                        return NULL;
                }
                if (!found) {
                        _cleanup_free_ char *gpus =
                                        f->gpus == 0 ? strdup("no GPU")
                                                     : strf("%u × %s", f->gpus,
                                                                       f->gpu_model ? f->gpu_model
                                                                                    : "GPU of unknown model");

                        *ret_why = strf("no shape fits instance \"%s\", firmware \"%s\", %s",
                                        f->instance ? f->instance : "unknown",
                                        f->product ? f->product : "unknown", strempty(gpus));
                }
        }
        if (found)
                *ret_by = by;
        return found;
}

const ShapeBusbw *shape_busbw(const Shape *s, int nodes, bool nvls, uint64_t max_bytes) {
        const ShapeBusbw *best = NULL;

        for (size_t i = 0; i < s->n_busbw; i++) {
                const ShapeBusbw *b = &s->busbw[i];

                if (b->nodes != nodes || (b->nvls && !nvls) || (max_bytes && b->bytes > max_bytes))
                        continue;
                if (!best || (b->gate && !best->gate) ||
                                (b->gate == best->gate && b->bytes > best->bytes))
                        best = b;
        }
        return best;
}

const char *shape_env(const Shape *s, const char *key) {
        STRV_FOREACH (e, s ? s->nccl_env : NULL) {
                const char *v = startswith(*e, key);

                if (v && *v == '=')
                        return v + 1;
        }
        return NULL;
}
