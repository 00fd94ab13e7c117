/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of shapes put together, and which of them a machine is. */

#include "steps/shape/shape.h"
#include "contract/paths.h"

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
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = load_file(&s, PATH_SHAPES, ret_error);
        if (r < 0)
                return r;
        r = fb_list(PATH_SITE_SHAPES, &names);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                *ret_error = strf("%s: %s", PATH_SITE_SHAPES, strerror(-r));
                return *ret_error ? -EINVAL : -ENOMEM;
        }
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = NULL;

                if (!endswith(*name, ".json"))
                        continue;
                path = strf("%s/%s", PATH_SITE_SHAPES, *name);
                r = path ? load_file(&s, path, ret_error) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        *ret = s;
        s = (Shapes) {};
        return 0;
}

const char *shape_source_name(ShapeSource s) {
        static const char *const names[] = {
                [SHAPE_BY_NAME] = "configuration",
                [SHAPE_BY_METADATA] = "metadata",
                [SHAPE_BY_DMI] = "firmware",
                [SHAPE_BY_SWITCHES] = "NVSwitches",
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

static const Shape *find_by_name(const Shapes *s, const char *name) {
        for (size_t i = 0; name && i < s->n; i++)
                if (streq(s->items[i].name, name))
                        return &s->items[i];
        return NULL;
}

static const Shape *find_by_instance(const Shapes *s, const char *instance) {
        for (size_t i = 0; instance && i < s->n; i++)
                if (strv_contains(s->items[i].instance, instance) ||
                                streq(s->items[i].name, instance))
                        return &s->items[i];
        return NULL;
}

static const Shape *find_by_firmware(const Shapes *s, const char *product) {
        for (size_t i = 0; product && i < s->n; i++)
                if (matches(s->items[i].dmi, product))
                        return &s->items[i];
        return NULL;
}

/* A shape of the provider (NULL: those of none) for this model with more GPUs than are there. */
static const Shape *find_larger(const Shapes *s, const ShapeFacts *f, const char *provider) {
        for (size_t i = 0; i < s->n; i++) {
                const Shape *x = &s->items[i];

                if (streq_ptr(x->provider, provider) && x->gpus > 0 &&
                                (unsigned) x->gpus > f->gpus &&
                                matches(x->gpu_models, f->gpu_model))
                        return x;
        }
        return NULL;
}

/* NVSwitches stay when a GPU is lost: their number tells which board it is. */
static const Shape *find_by_switches(const Shapes *s, const ShapeFacts *f) {
        const Shape *found = NULL;

        for (size_t i = 0; f->nvswitches > 0 && i < s->n; i++) {
                const Shape *x = &s->items[i];

                if (x->provider || x->nvswitches <= 0 || (unsigned) x->nvswitches != f->nvswitches)
                        continue;
                if (x->gpus <= 0 || (unsigned) x->gpus < f->gpus ||
                                !matches(x->gpu_models, f->gpu_model))
                        continue;
                if (found)
                        return NULL;
                found = x;
        }
        return found;
}

/* Boards with NVSwitches have eight GPUs at least (HGX A100, H100, H200, B200: NVIDIA's Fabric
 * Manager User Guide, "GPU Baseboard Topologies"); those of four tie them directly. */
#define GPUS_OF_SWITCHES 8

/* Why a machine that looks like this shape may be a larger one that lost GPUs; NULL where nothing
 * speaks for that. The caller frees it. */
static char *doubt(const Shape *s, const ShapeFacts *f) {
        bool fewer = s->gpus < GPUS_OF_SWITCHES;

        if (s->nvswitches != SHAPE_NOT_SAID && (unsigned) s->nvswitches != f->nvswitches &&
                        (f->nvswitches > 0 || !f->virtual_machine))
                return strf("PCI shows %u NVSwitches, and %s has %d", f->nvswitches, s->name,
                                s->nvswitches);
        if (fewer && s->nvswitches == SHAPE_NOT_SAID && f->nvswitches > 0)
                return strf("PCI shows %u NVSwitches, which tie together %d GPUs", f->nvswitches,
                                GPUS_OF_SWITCHES);
        if (fewer && f->links == SHAPE_LINKS_SWITCHED && !f->virtual_machine)
                return strf("its NVLinks lead to NVSwitches, which tie together %d GPUs",
                                GPUS_OF_SWITCHES);
        if (f->links == SHAPE_LINKS_OPEN)
                return strdup("NVLinks are down or lead to GPUs that are not there");
        if (fewer && f->empty_slots > 0 && f->links != SHAPE_LINKS_CLOSED)
                return strf("PCI shows %u empty slots like those of the GPUs", f->empty_slots);
        return NULL;
}

/* By what is built in. Shapes of the machine's provider come before those of none. NULL with
 * *ret_why where one fits that is not to be believed; NULL alone where none does. */
static const Shape *find_by_facts(
                const Shapes *s, const ShapeFacts *f, ShapeSource *ret_by, char **ret_why) {
        const Shape *found = NULL, *other = NULL, *larger;

        if (!f->gpu_model || f->gpus == 0)
                return NULL;
        *ret_by = SHAPE_BY_GPUS;
        if (f->provider) {
                found = find_by_gpus(s, f, f->provider, &other);
                /* Metadata with a name that is not in the table say that it is none of them. */
                larger = f->instance ? NULL : find_larger(s, f, f->provider);
                if (larger) {
                        *ret_why = strf("%u × %s may be %s with %u GPUs missing%s%s", f->gpus,
                                        f->gpu_model, larger->name,
                                        (unsigned) larger->gpus - f->gpus, found ? ", or " : "",
                                        found ? found->name : "");
                        return NULL;
                }
        }
        if (!found) {
                found = find_by_switches(s, f);
                if (found) {
                        *ret_by = SHAPE_BY_SWITCHES;
                        return found;
                }
                found = find_by_gpus(s, f, NULL, &other);
        }
        if (found && other) {
                *ret_why = strf("%u × %s may be %s or %s", f->gpus, f->gpu_model, found->name,
                                other->name);
                return NULL;
        }

        _cleanup_free_ char *why = found ? doubt(found, f) : NULL;
        if (!why)
                return found;
        *ret_why = strf("%u × %s would be %s, but %s: GPUs may be missing", f->gpus, f->gpu_model,
                        found->name, why);
        return NULL;
}

/* What was looked for in vain; NULL on out of memory. */
static char *explain(const ShapeFacts *f) {
        const char *model = f->gpu_model ? f->gpu_model : "GPU of unknown model";
        _cleanup_free_ char *gpus =
                        f->gpus == 0 ? strdup("no GPU") : strf("%u × %s", f->gpus, model);

        return strf("no shape fits instance \"%s\", firmware \"%s\", %s",
                        f->instance ? f->instance : "unknown", f->product ? f->product : "unknown",
                        strempty(gpus));
}

const Shape *shape_find(const Shapes *s, const ShapeFacts *f, ShapeSource *ret_by, char **ret_why) {
        _cleanup_free_ char *why = NULL;
        const Shape *found;

        if (f->name) {
                found = find_by_name(s, f->name);
                if (found)
                        *ret_by = SHAPE_BY_NAME;
                else
                        *ret_why = strf("no shape is called \"%s\"", f->name);
                return found;
        }

        found = find_by_instance(s, f->instance);
        if (found) {
                *ret_by = SHAPE_BY_METADATA;
                return found;
        }
        found = find_by_firmware(s, f->product);
        if (found) {
                *ret_by = SHAPE_BY_DMI;
                return found;
        }
        found = find_by_facts(s, f, ret_by, &why);
        if (!found)
                *ret_why = why ? TAKE_PTR(why) : explain(f);
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
