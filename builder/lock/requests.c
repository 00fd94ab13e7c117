/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a recipe asks for, stage by stage, in the order in which packages are installed. Lock and
 * plan both go by this list, so they can never disagree. */

#include "lock/lock.h"

typedef struct Requests {
        PackageRequest *list;
        size_t n;
} Requests;

static void requests_done(Requests *l) {
        package_requests_free(l->list, l->n);
}

/* Takes `id`. */
static int add(Requests *l, char *id, char *const *packages, const Overlay *overlay,
                const Compile *compile) {
        _cleanup_free_ char *taken = id;
        _cleanup_strv_free_ char **copy = strv_copy(packages);
        PackageRequest *grown;

        if (!taken || !copy)
                return -ENOMEM;
        grown = reallocarray(l->list, l->n + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;

        l->list = grown;
        l->list[l->n++] = (PackageRequest) {
                .id = TAKE_PTR(taken),
                .packages = TAKE_PTR(copy),
                .without = compile ? compile->without : NULL,
                .overlay = overlay,
                .throwaway = compile != NULL,
        };
        return 0;
}

void package_requests_free(PackageRequest *requests, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(requests[i].id);
                strv_free(requests[i].packages);
        }
        free(requests);
}

/* A repository without packages still counts: later overlays may install from it. */
static bool has_package_stage(const Overlay *o) {
        return strv_length(o->packages) > 0 || o->n_repositories > 0;
}

const Overlay *lock_compile_base(const Recipe *recipe, const Overlay *o) {
        const Overlay *last = NULL;

        for (size_t i = 0; i < recipe->n_overlays; i++)
                if (has_package_stage(recipe->overlays[i]) &&
                                recipe_overlay_needs(o, recipe->overlays[i]))
                        last = recipe->overlays[i];
        return last;
}

static int add_compiles_of(Requests *l, const Overlay *o, bool on_base) {
        for (size_t k = 0; k < o->n_compile; k++) {
                int r;

                if ((o->compile[k].on == COMPILE_ON_BASE) != on_base)
                        continue;
                r = add(l, strf("compile:%s/%zu", o->name, k), o->compile[k].packages, o,
                                o->compile + k);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_compiles_on_base(Requests *l, const Recipe *recipe) {
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                int r = add_compiles_of(l, recipe->overlays[i], true);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* The requests of all compile stages that see the packages up to those of `base` and no more. */
static int add_compiles(Requests *l, const Recipe *recipe, const Overlay *base) {
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];
                int r;

                if (o->n_compile == 0 || lock_compile_base(recipe, o) != base)
                        continue;
                r = add_compiles_of(l, o, false);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_overlay(Requests *l, const Recipe *recipe, const Overlay *o) {
        int r;

        if (!has_package_stage(o))
                return 0;
        r = add(l, strf("packages:%s", o->name), o->packages, o, NULL);
        if (r < 0)
                return r;
        return add_compiles(l, recipe, o);
}

int lock_package_requests(const Recipe *recipe, PackageRequest **ret, size_t *ret_n) {
        _cleanup_(requests_done) Requests l = {};
        int r;

        r = add(&l, strdup("base"), recipe->base.packages, NULL, NULL);
        if (r < 0)
                return r;
        r = add_compiles_on_base(&l, recipe);
        if (r < 0)
                return r;
        if (recipe->kernel.package) {
                r = add(&l, strdup("kernel"), ARGV(recipe->kernel.package), NULL, NULL);
                if (r < 0)
                        return r;
        }
        r = add_compiles(&l, recipe, NULL);
        if (r < 0)
                return r;

        for (size_t i = 0; i < recipe->n_overlays; i++) {
                r = add_overlay(&l, recipe, recipe->overlays[i]);
                if (r < 0)
                        return r;
        }
        if (strv_length(recipe->packages) > 0) {
                r = add(&l, strdup("packages"), recipe->packages, NULL, NULL);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(l.list);
        *ret_n = l.n;
        l.n = 0;
        return 0;
}
