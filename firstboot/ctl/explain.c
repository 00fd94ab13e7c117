/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl explain [CODE]: what a reason code means and what to do; without one, all that is
 * wrong now. */

#include "ctl/ctl.h"
#include "contract/codes.h"
#include "contract/graph.h"
#include "shared/log.h"
#include "shared/suggest.h"

/* The entry of a site's code in the step files, and the step's name. *g is the caller's, and what
 * is returned is part of it. NULL: no step has it. */
static json_object *find_own(const char *code, Graph **g, const char **ret_step) {
        if (graph_load(NULL, g) < 0)
                return NULL;

        for (size_t i = 0; i < (*g)->n; i++) {
                json_object *entry = json_get((*g)->steps[i].codes, code);

                *ret_step = (*g)->steps[i].name;
                if (entry)
                        return entry;
        }
        return NULL;
}

/* A code's text. What the verdict (NULL: there is none) says itself goes first. */
static void print_code(FILE *f, const char *code, json_object *verdict) {
        const char *meaning = json_get_string(verdict, "meaning"),
                   *remedy = json_get_string(verdict, "remedy"), *step;
        const Code *c = code_find(code);
        _cleanup_graph_ Graph *g = NULL;
        json_object *own = c ? NULL : find_own(code, &g, &step);

        if (c)
                meaning = c->meaning;
        else if (isempty(meaning))
                meaning = json_get_string(own, "meaning");
        if (isempty(remedy))
                remedy = c ? c->remedy : json_get_string(own, "remedy");

        if (!isempty(meaning))
                fprintf(f, "  %s\n%s", meaning, isempty(remedy) ? "" : "\n");
        if (!isempty(remedy))
                fprintf(f, "  What to do: %s\n", remedy);
        if (isempty(meaning) && isempty(remedy))
                fprintf(f, "  This code is of a step of your site, whose file does not say what it means.\n");
}

/* What happens without anybody's doing. */
static void print_next_try(FILE *f, json_object *o, const char *what) {
        _cleanup_free_ char *next = next_try(o);

        if (next)
                fprintf(f, "  Next try: %s, by itself; firstbootctl rerun %s tries at once\n", next,
                                what);
}

/* What keeps the whole node from going on. */
static void explain_node(FILE *f, const char *code, json_object *status) {
        json_object *errors = json_get(status, "errors");

        fprintf(f, "%s\n", code);
        for (size_t i = 0; errors && i < json_object_array_length(errors); i++)
                fprintf(f, "  %s\n", json_object_get_string(json_object_array_get_idx(errors, i)));
        if (!errors)
                fprintf(f, "  %s\n", strempty(json_get_string(status, "message")));
        fputc('\n', f);
        print_code(f, code, NULL);
        print_next_try(f, status, "config");
}

static bool is_bad(const char *status) {
        return streq(status, "failed") || streq(status, "degraded") || streq(status, "retrying");
}

static void explain_step(FILE *f, json_object *step) {
        json_object *result = json_get(step, "result"), *figures = json_get(result, "figures");
        const char *status = strempty(json_get_string(step, "status")),
                   *name = json_get_string(step, "name"), *code = json_get_string(result, "code");

        if (!code || !is_bad(status))
                return;

        fprintf(f, "%s%s is %s: %s\n  %s\n", ftell(f) > 0 ? "\n" : "", name, status, code,
                        strempty(json_get_string(result, "message")));
        figures_print(f, figures);
        fputc('\n', f);
        print_code(f, code, result);
        print_next_try(f, step, name);
        fprintf(f, "  More: firstbootctl log %s\n", name);
}

char *explain_status(json_object *status) {
        const char *node_code = json_get_string(status, "code");
        char *text = NULL;
        size_t size, n;
        json_object *steps = status_steps(status, &n);
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        if (node_code)
                explain_node(f, node_code, status);
        for (size_t i = 0; i < n; i++)
                explain_step(f, json_object_array_get_idx(steps, i));

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

static int log_unknown_code(const char *name) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *meant = NULL;

        for (size_t i = 0; i < codes_count; i++)
                if (strv_extend(&names, codes[i].code) < 0)
                        return EXIT_FAILURE;
        meant = suggest_text(name, names);
        log_error("There is no reason code \"%s\"%s", name,
                        isempty(meant) ? "; docs/reason-codes.md lists firstboot's, \"codes\" in a step's file those of a site's own step"
                                       : meant);
        return EXIT_FAILURE;
}

static int explain_code(const char *name) {
        const Code *code = code_find(name);
        const char *step;
        _cleanup_graph_ Graph *g = NULL;

        if (!code && !find_own(name, &g, &step))
                return log_unknown_code(name);
        if (code)
                printf("%s: %s\n\n", code->code, code->title);
        else
                printf("%s: a reason of step %s\n\n", name, step);
        print_code(stdout, name, NULL);
        return EXIT_SUCCESS;
}

int verb_explain(Ctl *c, int argc, char *argv[]) {
        _cleanup_json_ json_object *status = NULL;
        _cleanup_free_ char *text = NULL;

        if (argc > 1)
                return EXIT_USAGE;
        if (argc == 1)
                return explain_code(argv[0]);

        if (ctl_status(c, &status) < 0)
                return ctl_log_no_status(c, "; firstbootctl explain CODE needs neither");
        text = explain_status(status);
        if (!text)
                return EXIT_FAILURE;
        if (text[0])
                fputs(text, stdout);
        else if (streq_ptr(json_get_string(status, "node"), "starting"))
                puts("Nothing is wrong so far; the node is still starting.");
        else if (c->silence[0])
                puts("Nothing was wrong when firstbootd last told.");
        else
                puts("Nothing is wrong.");
        ctl_warn_old_status(c);
        return EXIT_SUCCESS;
}
