/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From sections that differ to the steps that read them, and on to those that wait for these. */

#include "contract/affected.h"

static bool differs(json_object *before, json_object *after, const char *section) {
        return !json_object_equal(json_get(before, section), json_get(after, section));
}

static bool override_differs(json_object *before, json_object *after, const char *step) {
        return differs(json_get(before, "steps"), json_get(after, "steps"), step);
}

static bool anything_differs(json_object *before, json_object *after) {
        return !json_object_equal(before, after);
}

static bool reads_a_change(const Step *s, json_object *before, json_object *after) {
        if (override_differs(before, after, s->name) || differs(before, after, s->name))
                return true;
        if (s->reads_all)
                return anything_differs(before, after);
        STRV_FOREACH (section, s->reads)
                if (differs(before, after, *section))
                        return true;
        return false;
}

static bool waits_for_one_of(const Graph *g, const Step *s, char *const *names) {
        STRV_FOREACH (name, names)
                if (graph_waits_for(g, s, *name))
                        return true;
        return false;
}

int steps_affected(const Graph *g, json_object *before, json_object *after, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;
        int r;

        /* In the graph's order each step comes after what it waits for. */
        for (size_t i = 0; i < g->n; i++) {
                const Step *s = &g->steps[i];

                if (!reads_a_change(s, before, after) && !waits_for_one_of(g, s, l))
                        continue;
                r = strv_extend(&l, s->name);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(l);
        return 0;
}
