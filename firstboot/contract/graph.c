/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/graph.h"
#include "contract/condition.h"
#include "contract/config-schema.h"
#include "shared/file-util.h"
#include "contract/paths.h"

#include <sys/stat.h>

#define STEP_FILE_MAX (64 * 1024)

static void step_done(Step *s) {
        free(s->name);
        free(s->description);
        free(s->file);
        strv_free(s->exec);
        strv_free(s->requires);
        strv_free(s->after);
        strv_free(s->only_if);
}

Graph *graph_free(Graph *g) {
        if (!g)
                return NULL;
        for (size_t i = 0; i < g->n; i++)
                step_done(&g->steps[i]);
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

bool step_name_is_valid(const char *name) {
        size_t n = strlen(name);

        if (n == 0 || n > 32 || name[0] < 'a' || name[0] > 'z')
                return false;
        return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* Step names found in a folder of step files; an absent folder has none. */
static int list_folder(const char *folder, char ***names) {
        _cleanup_strv_free_ char **files = NULL;
        int r = fb_list(folder, &files);

        STRV_FOREACH (file, files) {
                size_t n = strlen(*file);

                if (!endswith(*file, ".json"))
                        continue;
                char *name = strndup(*file, n - strlen(".json"));
                if (!name)
                        return -ENOMEM;
                if (strv_contains(*names, name))
                        free(name);
                else
                        r = strv_push(names, name);
                if (r < 0)
                        return r;
        }
        return r;
}

int graph_installed(char ***ret_names) {
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = list_folder(PATH_STEPS, &names);
        if (r < 0)
                return r;
        r = list_folder(PATH_SITE_STEPS, &names);
        if (r < 0)
                return r;
        if (names)
                strv_sort(names);
        *ret_names = TAKE_PTR(names);
        return 0;
}

static int take_strings(Graph *g, const Step *s, json_object *o, const char *key, char ***l) {
        json_object *list = json_get(o, key);

        if (!list)
                return 0;
        if (!json_object_is_type(list, json_type_array))
                return strv_extendf(
                                &g->errors, "%s: \"%s\" must be a list of strings", s->file, key);
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);

                int r = json_object_is_type(item, json_type_string)
                                        ? strv_extend(l, json_object_get_string(item))
                                        : strv_extendf(&g->errors,
                                                          "%s: \"%s\" must be a list of strings",
                                                          s->file, key);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_duration(Graph *g, const Step *s, json_object *o, const char *key, uint64_t *usec) {
        json_object *v = json_get(o, key);

        if (!v || parse_duration(v, usec) >= 0)
                return 0;
        return strv_extendf(&g->errors,
                        "%s: \"%s\" must be a time such as 30 (seconds) or \"5min\"", s->file, key);
}

/* true, or the path of a boolean in the configuration that decides. */
static bool decide(json_object *config, json_object *v) {
        if (json_object_is_type(v, json_type_boolean))
                return json_object_get_boolean(v);
        if (!json_object_is_type(v, json_type_string))
                return false;
        _cleanup_strv_free_ char **parts = strv_split(json_object_get_string(v), ".");
        STRV_FOREACH (p, parts)
                config = json_get(config, *p);
        return json_object_is_type(config, json_type_boolean) && json_object_get_boolean(config);
}

static int check_keys(Graph *g, const Step *s, json_object *o) {
        static const char *const known[] = { "description", "requires", "after", "when", "timeout",
                "retries", "retry_delay", "retry_delay_max", "required", "run_on_failure", "exec",
                "only_if" };
        int r;

        json_object_object_foreach (o, key, value) {
                bool found = false;

                (void) value;
                for (size_t i = 0; i < ELEMENTSOF(known); i++)
                        found = found || streq(known[i], key);
                if (!found) {
                        r = strv_extendf(&g->errors, "%s: unknown key \"%s\"", s->file, key);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

static int fill_step(Graph *g, Step *s, json_object *o, json_object *config) {
        const char *when = json_get_string(o, "when"),
                   *description = json_get_string(o, "description");
        json_object *overrides = json_get(json_get(config, "steps"), s->name);
        int64_t retries;
        int r;

        s->description = strdup(description ? description : s->name);
        if (!s->description)
                return -ENOMEM;
        r = check_keys(g, s, o);
        if (r >= 0)
                r = take_strings(g, s, o, "exec", &s->exec);
        if (r >= 0)
                r = take_strings(g, s, o, "requires", &s->requires);
        if (r >= 0)
                r = take_strings(g, s, o, "after", &s->after);
        if (r >= 0)
                r = take_strings(g, s, o, "only_if", &s->only_if);
        if (r < 0)
                return r;
        STRV_FOREACH (word, s->only_if)
                if (!condition_is_valid(*word)) {
                        r = strv_extendf(&g->errors,
                                        "%s: \"only_if\" knows \"configured\" and \"pci:VENDOR\" (four hexadecimal digits), not \"%s\"",
                                        s->file, *word);
                        if (r < 0)
                                return r;
                }
        if (when && !streq(when, "first-boot") && !streq(when, "every-boot")) {
                r = strv_extendf(&g->errors,
                                "%s: \"when\" must be \"first-boot\" or \"every-boot\"", s->file);
                if (r < 0)
                        return r;
        }
        s->first_boot_only = streq_ptr(when, "first-boot");
        s->requires_all = strv_contains(s->requires, "*");
        s->run_on_failure = decide(config, json_get(o, "run_on_failure"));
        s->required = json_get_bool(overrides, "required", json_get_bool(o, "required", true));
        s->timeout_usec = 10 * 60 * USEC_PER_SEC;
        s->delay_usec = 2 * USEC_PER_SEC;
        s->delay_max_usec = 60 * USEC_PER_SEC;
        r = take_duration(g, s, o, "timeout", &s->timeout_usec);
        if (r >= 0)
                r = take_duration(g, s, o, "retry_delay", &s->delay_usec);
        if (r >= 0)
                r = take_duration(g, s, o, "retry_delay_max", &s->delay_max_usec);
        if (r >= 0)
                r = take_duration(g, s, overrides, "timeout", &s->timeout_usec);
        if (r < 0)
                return r;
        retries = json_get_int(overrides, "retries", json_get_int(o, "retries", 0));
        if (retries < 0 || retries > 1000 || s->timeout_usec == 0)
                return strv_extendf(&g->errors,
                                "%s: \"retries\" must be from 0 to 1000 and \"timeout\" above 0",
                                s->file);
        s->retries = (unsigned) retries;
        return 0;
}

/* 1: loaded into *s; 0: no step (masked or faulty; a fault is in g->errors). */
static int load_step(Graph *g, const char *name, json_object *config, Step *s) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        int r;

        for (unsigned i = 0; i < 2; i++) {
                const char *folder = i == 0 ? PATH_SITE_STEPS : PATH_STEPS;
                _cleanup_free_ char *path = fb_pathf("%s/%s.json", folder, name),
                                    *file = strf("%s/%s.json", folder, name);
                struct stat st;

                if (!path || !file)
                        return -ENOMEM;
                if (stat(path, &st) < 0 && errno == ENOENT)
                        continue;
                if (i == 0 && !S_ISDIR(st.st_mode) && st.st_size == 0)
                        return 0;
                if (!step_name_is_valid(name))
                        return strv_extendf(&g->errors,
                                        "%s: a step's name is made of a-z, 0-9 and '-', at most 32",
                                        file);
                r = json_load(path, STEP_FILE_MAX, &e, &o);
                if (r == -ENOMEM)
                        return r;
                if (r < 0 && e.line == 0)
                        return strv_extendf(&g->errors, "%s: %s", file, e.message);
                if (r < 0)
                        return strv_extendf(&g->errors, "%s:%u:%u: %s", file, e.line, e.column,
                                        e.message);
                if (!json_object_is_type(o, json_type_object))
                        return strv_extendf(&g->errors, "%s: must be an object { … }", file);
                s->name = strdup(name);
                s->file = TAKE_PTR(file);
                if (!s->name)
                        return -ENOMEM;
                r = fill_step(g, s, o, config);
                if (r < 0)
                        return r;
                if (i == 0 && strv_length(s->exec) == 0)
                        return strv_extendf(&g->errors,
                                        "%s: \"exec\" is missing: the program to run", s->file);
                return 1;
        }
        return 0;
}

static bool reaches(const Graph *g, const Step *a, const char *b, bool *seen) {
        if (seen[a - g->steps])
                return false;
        seen[a - g->steps] = true;
        for (unsigned i = 0; i < 2; i++)
                STRV_FOREACH (name, i == 0 ? a->requires : a->after) {
                        const Step *other = graph_find(g, *name);

                        if (streq(*name, b) || (other && reaches(g, other, b, seen)))
                                return true;
                }
        return false;
}

/* Does a wait for b, directly or through others? "*" edges are not followed: they adapt to the
 * others. */
static bool waits_for(const Graph *g, const Step *a, const char *b) {
        _cleanup_free_ bool *seen = calloc(g->n, sizeof(bool));

        return seen && reaches(g, a, b, seen);
}

/* Checks the names in requires and after, drops those of disabled steps, and opens up "*". */
static int resolve(Graph *g, json_object *config, char *const *installed) {
        int r;

        for (size_t i = 0; i < g->n; i++) {
                Step *s = &g->steps[i];

                for (unsigned j = 0; j < 2; j++) {
                        char **l = j == 0 ? s->
                                                    requires
                                          : s->after;
                        _cleanup_strv_free_ char **copy = strv_copy(l);

                        if (!copy && l)
                                return -ENOMEM;
                        STRV_FOREACH (name, copy) {
                                if (graph_find(g, *name))
                                        continue;
                                strv_remove(l, *name);
                                /* "after" orders only; a disabled step was taken out on purpose. */
                                if (j == 1 || streq(*name, "*") ||
                                                !json_get_bool(json_get(json_get(config, "steps"),
                                                                               *name),
                                                                "enabled", true))
                                        continue;
                                r = strv_extendf(&g->errors,
                                                "%s: requires step \"%s\", which is %s", s->file,
                                                *name,
                                                strv_contains(installed, *name) ? "faulty"
                                                                                : "not installed");
                                if (r < 0)
                                        return r;
                        }
                }
        }
        for (size_t i = 0; i < g->n; i++) {
                Step *s = &g->steps[i];

                for (size_t j = 0; s->requires_all && j < g->n; j++) {
                        Step *other = &g->steps[j];

                        if (other->requires_all || strv_contains(s->requires, other->name) ||
                                        waits_for(g, other, s->name))
                                continue;
                        r = strv_extend(&s->requires, other->name);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

static bool all_before(const Graph *g, size_t n, const Step *s) {
        for (unsigned i = 0; i < 2; i++)
                STRV_FOREACH (name, i == 0 ? s->requires : s->after) {
                        bool before = false;

                        for (size_t j = 0; j < n; j++)
                                before = before || streq(g->steps[j].name, *name);
                        if (!before)
                                return false;
                }
        return true;
}

/* Puts steps[] into a topological order; what is left over is in a cycle or behind one. */
static int order(Graph *g) {
        _cleanup_strv_free_ char **cycle = NULL;
        _cleanup_free_ char *text = NULL;
        size_t done = 0;
        int r;

        for (bool moved = true; moved && done < g->n;) {
                moved = false;
                for (size_t i = done; i < g->n; i++)
                        if (all_before(g, done, &g->steps[i])) {
                                Step s = g->steps[i];

                                memmove(&g->steps[done + 1], &g->steps[done],
                                                (i - done) * sizeof(Step));
                                g->steps[done++] = s;
                                moved = true;
                                break;
                        }
        }
        for (size_t i = done; i < g->n; i++)
                if (waits_for(g, &g->steps[i], g->steps[i].name)) {
                        r = strv_extend(&cycle, g->steps[i].name);
                        if (r < 0)
                                return r;
                }
        if (!cycle)
                return 0;
        text = strv_join(cycle, ", ");
        return text ? strv_extendf(&g->errors, "%s: these steps wait for each other in a cycle: %s",
                                      PATH_SITE_STEPS, text)
                    : -ENOMEM;
}

int graph_load(json_object *config, Graph **ret) {
        _cleanup_graph_ Graph *g = calloc(1, sizeof(*g));
        _cleanup_strv_free_ char **names = NULL;
        int r;

        if (!g)
                return -ENOMEM;
        r = graph_installed(&names);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                r = strv_extendf(&g->errors, "%s: %s", PATH_STEPS, strerror(-r));
                if (r < 0)
                        return r;
        }
        g->steps = calloc(strv_length(names) + 1, sizeof(Step));
        if (!g->steps)
                return -ENOMEM;
        STRV_FOREACH (name, names) {
                Step s = {};

                if (!json_get_bool(json_get(json_get(config, "steps"), *name), "enabled", true))
                        continue;
                r = load_step(g, *name, config, &s);
                if (r <= 0)
                        step_done(&s);
                if (r < 0)
                        return r;
                if (r > 0)
                        g->steps[g->n++] = s;
        }
        json_object *overrides = json_get(config, "steps");
        if (overrides) {
                json_object_object_foreach (overrides, key, value) {
                        (void) value;
                        if (!strv_contains(names, key)) {
                                r = strv_extendf(&g->errors,
                                                "configuration: steps.%s: no such step is installed",
                                                key);
                                if (r < 0)
                                        return r;
                        }
                }
        }
        r = resolve(g, config, names);
        if (r < 0)
                return r;
        r = order(g);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(g);
        return 0;
}
