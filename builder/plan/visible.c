/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a stage sees of those below it. */

#include "plan/plan.h"

/* Whether `o` comes no later than `last` among the recipe's overlays. */
static bool comes_by(const Recipe *recipe, const Overlay *o, const Overlay *last) {
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                if (recipe->overlays[i] == o)
                        return true;
                if (recipe->overlays[i] == last)
                        return false;
        }
        return false;
}

/* Of the overlays that fill it one may be enough. */
static bool needs_environment(const Recipe *recipe, const Overlay *o, const char *environment) {
        for (size_t i = 0; i < recipe->n_overlays; i++)
                if (streq_ptr(recipe->overlays[i]->python.environment, environment) &&
                                recipe_overlay_needs(o, recipe->overlays[i]))
                        return true;
        return false;
}

bool plan_stage_sees(const Plan *p, size_t i, size_t below) {
        const Stage *s = p->stages + i, *t = p->stages + below;
        const Overlay *base;

        if (below >= i || s->kind != STAGE_COMPILE)
                return below < i;
        if (t->kind == STAGE_BASE || t->kind == STAGE_IMAGE)
                return true;
        if (s->overlay->compile[s->index].on == COMPILE_ON_BASE)
                return false;
        if (t->kind == STAGE_PYTHON)
                return needs_environment(p->recipe, s->overlay, t->overlay->python.environment);
        if (t->kind == STAGE_ARTIFACTS || t->kind == STAGE_COMPILE)
                return recipe_overlay_needs(s->overlay, t->overlay);
        if (t->kind != STAGE_PACKAGES) /* what comes before environments, and no compiler needs */
                return false;
        if (streq(t->id, "kernel"))
                return true;

        base = lock_compile_base(p->recipe, s->overlay);
        return base && t->overlay && comes_by(p->recipe, t->overlay, base);
}

bool plan_stage_uses(const Stage *s, const Artifact *a) {
        if (a->kind == INSTALL_SOURCE)
                return s->kind == STAGE_COMPILE && s->index == a->compile;
        return s->kind == STAGE_ARTIFACTS;
}
