/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the steps of a recipe's overlays require of each other and of firstboot's own: a name that
 * is misspelt, and steps that wait for each other. A node with such steps starts none. */

#include "recipe/node-config.h"
#include "contract/graph.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/suggest.h"

#include <unistd.h>

/* The steps of the firstboot/ that an overlay compiles: each has a folder of its name in steps/. */
static int add_shipped(const char *source, char ***names) {
        _cleanup_strv_free_ char **folders = NULL;
        _cleanup_free_ char *steps = path_join(source, "steps");
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        if (!steps)
                return -ENOMEM;
        if (folder_open(steps, &d) < 0)
                return 0;
        r = folder_names(d, &folders);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        STRV_FOREACH (name, folders) {
                _cleanup_free_ char *file = strf("%s/%s/%s.json", steps, *name, *name);

                if (!file)
                        return -ENOMEM;
                if (access(file, F_OK) >= 0 && strv_extend(names, *name) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Steps of overlays, borrowed; `names` has firstboot's own as well. */
static int gather(const Recipe *recipe, Graph *g, char ***names) {
        size_t n = 0;

        for (size_t i = 0; i < recipe->n_overlays; i++)
                n += recipe->overlays[i]->n_steps;
        g->steps = calloc(n + 1, sizeof(Step));
        if (!g->steps)
                return -ENOMEM;
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];

                for (size_t k = 0; k < o->n_compile; k++)
                        if (o->compile[k].source && add_shipped(o->compile[k].source, names) < 0)
                                return -ENOMEM;
                for (size_t k = 0; k < o->n_steps; k++) {
                        g->steps[g->n++] = o->steps[k];
                        if (strv_extend(names, o->steps[k].name) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

/* What is near to no name that is known here may be a step that a package brings: the finished
 * tree's check, which has them all, judges it. */
static void check_requires(Problems *p, const Step *s, char *const *names) {
        STRV_FOREACH (name, s->requires) {
                const char *meant = strv_contains(names, *name) || streq(*name, "*")
                                                    ? NULL
                                                    : suggest_nearest(*name, names);

                if (meant)
                        problems_add(p, s->file, NULL,
                                        "requires step \"%s\", and no overlay of the recipe brings one; did you mean \"%s\"?",
                                        *name, meant);
        }
}

int node_steps_check(Problems *p, const Recipe *recipe) {
        _cleanup_free_ Step *steps = NULL;
        _cleanup_strv_free_ char **names = NULL, **circle = NULL;
        _cleanup_free_ char *text = NULL;
        const char *file = NULL;
        Graph g = {};
        int r;

        r = gather(recipe, &g, &names);
        steps = g.steps;
        if (r < 0)
                return r;
        for (size_t i = 0; i < g.n; i++) {
                check_requires(p, &g.steps[i], names);
                if (!graph_waits_for(&g, &g.steps[i], g.steps[i].name))
                        continue;
                file = file ? file : g.steps[i].file;
                if (strv_extend(&circle, g.steps[i].name) < 0)
                        return -ENOMEM;
        }
        if (!circle)
                return 0;
        text = strv_join(circle, ", ");
        if (!text)
                return -ENOMEM;
        problems_add(p, file, NULL,
                        circle[1] ? "these steps wait for each other in a circle: %s"
                                  : "step \"%s\" waits for itself",
                        text);
        return 0;
}
