/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The units that overlays enable, disable and mask: systemctl, offline, once a verb. */

#include "stage/internal.h"

#include "shared/log.h"
#include "shared/strv.h"

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

static int want_services(Units *all, const Services *s) {
        int r;

        r = want(all, s->enable, UNIT_ENABLE);
        if (r < 0)
                return r;
        r = want(all, s->disable, UNIT_DISABLE);
        if (r < 0)
                return r;
        return want(all, s->mask, UNIT_MASK);
}

static int run_systemctl(StageBuild *b, const char *verb, char **units) {
        _cleanup_strv_free_ char **argv = NULL;

        if (strv_length(units) == 0)
                return 0;
        strv_sort(units);
        if (strv_extend_strv(&argv, ARGV("systemctl", "--root=/", "--no-pager", verb)) < 0 ||
                        strv_extend_strv(&argv, units) < 0)
                return log_oom();
        return stage_command(b, &b->sandbox, argv);
}

int stage_services(StageBuild *b) {
        static const char *const verbs[UNIT_STATES] = { "enable", "disable", "mask" };
        _cleanup_(units_done) Units all = {};
        int r;

        for (size_t i = 0; i < b->plan->recipe->n_overlays; i++) {
                r = want_services(&all, &b->plan->recipe->overlays[i]->services);
                if (r < 0)
                        return log_oom();
        }
        for (size_t i = 0; i < UNIT_STATES; i++) {
                r = run_systemctl(b, verbs[i], all.lists[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}
