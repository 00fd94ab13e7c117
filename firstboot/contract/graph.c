/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The graph of steps, from the step files that are read (step-file.c): which may be left out, what
 * "*" stands for, in which order. */

#include "contract/graph.h"
#include "contract/paths.h"

Graph *graph_free(Graph *g) {
        if (!g)
                return NULL;
        for (size_t i = 0; i < g->n; i++)
                step_clear(&g->steps[i]);
        free(g->steps);
        strv_free(g->errors);
        free(g);
        return NULL;
}

Step *graph_find(const Graph *g, const char *name) {
        for (size_t i = 0; i < g->n; i++)
                if (streq(g->steps[i].name, name))
                        return &g->steps[i];
        return NULL;
}

/* Both kinds of what a step waits for: 0 requires, 1 after. */
#define N_KINDS 2

static char **waited_for(const Step *s, unsigned kind) {
        return kind == 0 ? s->requires : s->after;
}

static bool is_enabled(json_object *config, const char *name) {
        return json_get_bool(json_get(json_get(config, "steps"), name), "enabled", true);
}

/* seen: one flag for each step of the graph. */
static bool reaches(const Graph *g, const Step *a, const char *b, bool *seen) {
        if (seen[a - g->steps])
                return false;
        seen[a - g->steps] = true;

        for (unsigned kind = 0; kind < N_KINDS; kind++)
                STRV_FOREACH (name, waited_for(a, kind)) {
                        const Step *other = graph_find(g, *name);

                        if (streq(*name, b) || (other && reaches(g, other, b, seen)))
                                return true;
                }
        return false;
}

bool graph_waits_for(const Graph *g, const Step *a, const char *b) {
        _cleanup_free_ bool *seen = calloc(g->n, sizeof(bool));

        return seen && reaches(g, a, b, seen);
}

/* Takes names that are in no graph out of one list of a step. "after" orders only, and a disabled
 * step was taken out on purpose; any other is an error. */
static int drop_absent(
                Graph *g, Step *s, unsigned kind, json_object *config, char *const *installed) {
        char **l = waited_for(s, kind);
        _cleanup_strv_free_ char **copy = strv_copy(l);
        int r;

        if (!copy && l)
                return -ENOMEM;

        STRV_FOREACH (name, copy) {
                if (graph_find(g, *name))
                        continue;
                strv_remove(l, *name);
                if (kind == 1 || streq(*name, "*") || !is_enabled(config, *name))
                        continue;
                r = strv_extendf(&g->errors, "%s: requires step \"%s\", which is %s", s->file,
                                *name,
                                strv_contains(installed, *name) ? "faulty" : "not installed");
                if (r < 0)
                        return r;
        }
        return 0;
}

/* "*": every step that does not wait for this one. */
static int require_all(Graph *g, Step *s) {
        int r;

        for (size_t i = 0; i < g->n; i++) {
                const Step *other = &g->steps[i];

                if (other->requires_all || strv_contains(s->requires, other->name) ||
                                graph_waits_for(g, other, s->name))
                        continue;
                r = strv_extend(&s->requires, other->name);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Checks the names in requires and after, drops those of disabled steps, and opens up "*". */
static int resolve(Graph *g, json_object *config, char *const *installed) {
        int r;

        for (size_t i = 0; i < g->n; i++)
                for (unsigned kind = 0; kind < N_KINDS; kind++) {
                        r = drop_absent(g, &g->steps[i], kind, config, installed);
                        if (r < 0)
                                return r;
                }

        for (size_t i = 0; i < g->n; i++) {
                if (!g->steps[i].requires_all)
                        continue;
                r = require_all(g, &g->steps[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool is_among(const Step *steps, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq(steps[i].name, name))
                        return true;
        return false;
}

/* Whether the first n steps have all that s waits for. */
static bool all_before(const Graph *g, size_t n, const Step *s) {
        for (unsigned kind = 0; kind < N_KINDS; kind++)
                STRV_FOREACH (name, waited_for(s, kind))
                        if (!is_among(g->steps, n, *name))
                                return false;
        return true;
}

/* The index of a step from `done` on that can come next, or g->n. */
static size_t find_next(const Graph *g, size_t done) {
        size_t i = done;

        while (i < g->n && !all_before(g, done, &g->steps[i]))
                i++;
        return i;
}

/* Puts steps[] into a topological order; what is left over is in a cycle or behind one. */
static int order(Graph *g) {
        _cleanup_strv_free_ char **cycle = NULL;
        _cleanup_free_ char *text = NULL;
        size_t done = 0;
        int r;

        for (size_t next; (next = find_next(g, done)) < g->n; done++) {
                Step s = g->steps[next];

                memmove(&g->steps[done + 1], &g->steps[done], (next - done) * sizeof(Step));
                g->steps[done] = s;
        }

        for (size_t i = done; i < g->n; i++) {
                if (!graph_waits_for(g, &g->steps[i], g->steps[i].name))
                        continue;
                r = strv_extend(&cycle, g->steps[i].name);
                if (r < 0)
                        return r;
        }
        if (!cycle)
                return 0;

        text = strv_join(cycle, ", ");
        if (!text)
                return -ENOMEM;
        return strv_extendf(&g->errors, "%s: these steps wait for each other in a cycle: %s",
                        PATH_SITE_STEPS, text);
}

/* Loads the steps that are enabled. */
static int load_steps(Graph *g, json_object *config, char *const *names) {
        int r;

        g->steps = calloc(strv_length(names) + 1, sizeof(Step));
        if (!g->steps)
                return -ENOMEM;

        STRV_FOREACH (name, names) {
                Step s = {};

                if (!is_enabled(config, *name))
                        continue;
                r = step_load(*name, config, &s, &g->errors);
                if (r <= 0)
                        step_clear(&s);
                if (r < 0)
                        return r;
                if (r > 0)
                        g->steps[g->n++] = s;
        }
        return 0;
}

/* Whom the "steps" section is about must be there. */
static int check_overrides(Graph *g, json_object *config, char *const *names) {
        json_object *overrides = json_get(config, "steps");
        int r;

        if (!overrides)
                return 0;

        json_object_object_foreach (overrides, key, value) {
                (void) value;
                if (strv_contains(names, key))
                        continue;
                r = strv_extendf(&g->errors, "configuration: steps.%s: no such step is installed",
                                key);
                if (r < 0)
                        return r;
        }
        return 0;
}

int graph_load(json_object *config, Graph **ret) {
        _cleanup_graph_ Graph *g = calloc(1, sizeof(*g));
        _cleanup_strv_free_ char **names = NULL;
        int r;

        if (!g)
                return -ENOMEM;
        r = step_list(&names);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                r = strv_extendf(&g->errors, "%s: %s", PATH_STEPS, strerror(-r));
                if (r < 0)
                        return r;
        }

        r = load_steps(g, config, names);
        if (r < 0)
                return r;
        r = check_overrides(g, config, names);
        if (r < 0)
                return r;
        r = resolve(g, config, names);
        if (r < 0)
                return r;
        r = order(g);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(g);
        return 0;
}
