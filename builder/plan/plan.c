/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A plan as a whole: made of a recipe and its lock, searched, freed. */

#include "plan/internal.h"

int plan_new(const Recipe *recipe, const Lock *lock, Plan **ret) {
        _cleanup_plan_free_ Plan *p = calloc(1, sizeof(*p));
        int r;

        if (!p)
                return -ENOMEM;
        p->recipe = recipe;
        p->lock = lock;
        if (recipe->kind == RECIPE_DISK) { /* kernel.package's, or the base image's own */
                p->kernel = lock_kernel_release(lock);
                if (!p->kernel)
                        return -ESTALE;
        }
        r = recipe->family == FAMILY_DEBIAN ? dpkg_options_load(recipe, &p->dpkg_options) : 0;
        if (r < 0)
                return r;
        r = plan_add_stages(p);
        if (r < 0)
                return r;
        r = plan_digest_stages(p);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(p);
        return 0;
}

const Stage *plan_find(const Plan *p, const char *id) {
        for (size_t i = 0; i < p->n_stages; i++)
                if (streq(p->stages[i].id, id))
                        return p->stages + i;
        return NULL;
}

Plan *plan_free(Plan *p) {
        if (!p)
                return NULL;
        for (size_t i = 0; i < p->n_stages; i++) {
                free(p->stages[i].id);
                json_object_put(p->stages[i].inputs);
        }
        free(p->stages);
        strv_free(p->dpkg_options);
        free(p);
        return NULL;
}
