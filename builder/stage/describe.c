/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is said of a layer, whoever made it. */

#include "stage/internal.h"

/* Which newer time stamps are set to: a vendor's image keeps its own, whenever the lock is made
 * anew. */
int64_t stage_newest_time(const Plan *plan, const Stage *s) {
        return s->kind == STAGE_IMAGE ? plan->lock->image.newest : plan->lock->epoch;
}

int stage_describe(const Plan *plan, size_t i, json_object *made_with, json_object **ret) {
        _cleanup_json_ json_object *meta = json_object_new_object();
        const Stage *s = plan->stages + i, *parent = NULL;
        int r;

        for (size_t j = 0; j < i; j++)
                if (plan_stage_sees(plan, i, j))
                        parent = plan->stages + j;
        r = json_set_fields(meta, JSON_STRING("recipe", plan->recipe->name),
                        JSON_STRING("stage", s->id), JSON_STRING("kind", stage_kind_name(s->kind)),
                        JSON_STRING("parent", parent ? parent->digest : NULL),
                        JSON_TAKE("made_with", json_object_get(made_with)));
        if (r < 0)
                return r;
        *ret = TAKE_PTR(meta);
        return 0;
}
