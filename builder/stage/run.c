/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Overlays' scripts in the tree, and the units that overlays enable, disable and mask. */

#include "stage/internal.h"

#include "shared/log.h"
#include "shared/strv.h"

#define INSIDE_SCRIPT INSIDE "/script"

int stage_run(StageBuild *b) {
        const Run *run = b->stage->overlay->run + b->stage->index;
        const SandboxBind bind = { run->script, INSIDE_SCRIPT, false };
        char *const argv[] = { (char *) INSIDE_SCRIPT, NULL };
        _cleanup_strv_free_ char **env = NULL;
        Sandbox s = b->sandbox;

        if (strv_extend(&env, "DEBIAN_FRONTEND=noninteractive") < 0 ||
                        (b->plan->kernel && strv_extendf(&env, "KERNEL=%s", b->plan->kernel) < 0))
                return log_oom();
        s.binds = &bind;
        s.n_binds = 1;
        s.env = env;
        s.network = run->network;
        return stage_command(b->ctx, b->stage->id, &s, NULL, argv, NULL);
}

/* What each unit is to be; where overlays differ, the later one wins. */
typedef enum UnitState { UNIT_ENABLE, UNIT_DISABLE, UNIT_MASK, UNIT_STATES } UnitState;

typedef struct Units {
        char **lists[UNIT_STATES];
} Units;

static void units_done(Units *u) {
        for (size_t i = 0; i < UNIT_STATES; i++)
                strv_free(u->lists[i]);
}

static int want(Units *all, char *const *units, UnitState state) {
        STRV_FOREACH (unit, units) {
                int r;

                for (size_t i = 0; i < UNIT_STATES; i++)
                        strv_remove(all->lists[i], *unit);
                r = strv_extend(&all->lists[state], *unit);
                if (r < 0)
                        return r;
        }
        return 0;
}

int stage_services(StageBuild *b) {
        static const char *const verbs[UNIT_STATES] = { "enable", "disable", "mask" };
        _cleanup_(units_done) Units all = {};
        int r = 0;

        for (size_t i = 0; r >= 0 && i < b->plan->recipe->n_overlays; i++) {
                const Services *s = &b->plan->recipe->overlays[i]->services;

                r = want(&all, s->enable, UNIT_ENABLE);
                if (r >= 0)
                        r = want(&all, s->disable, UNIT_DISABLE);
                if (r >= 0)
                        r = want(&all, s->mask, UNIT_MASK);
        }
        if (r < 0)
                return log_oom();
        for (size_t i = 0; r >= 0 && i < UNIT_STATES; i++) {
                _cleanup_strv_free_ char **argv = NULL;

                if (strv_length(all.lists[i]) == 0)
                        continue;
                strv_sort(all.lists[i]);
                if (strv_extend_many(&argv, "systemctl", "--root=/", "--no-pager", verbs[i], NULL) <
                                                0 ||
                                strv_extend_strv(&argv, all.lists[i]) < 0)
                        return log_oom();
                r = stage_command(b->ctx, b->stage->id, &b->sandbox, NULL, argv, NULL);
        }
        return r;
}
