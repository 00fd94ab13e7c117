/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The units that overlays enable, disable and mask: systemctl, offline, once a verb. */

#include "stage/internal.h"

#include "shared/log.h"
#include "shared/strv.h"
#include "shared/suggest.h"

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

/* The list of an overlay that a verb is for. */
static char **list_of(const Services *s, UnitState state) {
        return state == UNIT_ENABLE ? s->enable : state == UNIT_DISABLE ? s->disable : s->mask;
}

/* What systemctl is told, and the unit that it does not know. */
typedef struct Systemctl {
        char *const *units;
        const char *missing;
} Systemctl;

/* "Failed to enable unit: Unit nosuch.service does not exist", "unit nosuch.service does not
 * exist." */
static void look_for_missing(const char *line, void *userdata) {
        Systemctl *s = userdata;

        if (s->missing || (!strstr(line, "does not exist") && !strstr(line, "not found")))
                return;
        STRV_FOREACH (unit, s->units) {
                _cleanup_free_ char *word = strf("nit %s", *unit);
                const char *at = word ? strstr(line, word) : NULL;

                if (at && (at[strlen(word)] == ' ' || at[strlen(word)] == '.')) {
                        s->missing = *unit;
                        return;
                }
        }
}

/* Which overlay asked for it. */
static void log_missing(const StageBuild *b, const char *verb, UnitState state, const char *unit) {
        for (size_t i = 0; i < b->plan->recipe->n_overlays; i++) {
                const Overlay *o = b->plan->recipe->overlays[i];
                _cleanup_strv_free_ char **own = NULL;
                _cleanup_free_ char *meant = NULL;

                if (recipe_overlay_units(o, &own) >= 0)
                        meant = suggest_text(unit, own);
                if (strv_contains(list_of(&o->services, state), unit))
                        log_error("%s: $.services.%s: there is no unit %s in the image; correct its name, or add the package or file that brings it%s",
                                        o->file, verb, unit, strempty(meant));
        }
}

static int run_systemctl(StageBuild *b, const char *verb, UnitState state, char **units) {
        _cleanup_strv_free_ char **argv = NULL;
        Systemctl s = { .units = units };
        const SpawnOptions options = { .on_line = look_for_missing, .line_data = &s };
        int r;

        if (strv_length(units) == 0)
                return 0;
        strv_sort(units);
        if (strv_extend_strv(&argv, ARGV("systemctl", "--root=/", "--no-pager", verb)) < 0 ||
                        strv_extend_strv(&argv, units) < 0)
                return log_oom();
        r = logged_command(b->ctx, b->stage->id, &b->sandbox, &options, argv);
        if (r < 0 && s.missing)
                log_missing(b, verb, state, s.missing);
        return r;
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
                r = run_systemctl(b, verbs[i], i, all.lists[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}
