/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl explain [CODE]: what a reason code means and what to do; without one, all that is
 * wrong now. */

#include "contract/codes.h"
#include "ctl/ctl.h"
#include "shared/log.h"

static void print_code(FILE *f, const char *code, const char *remedy) {
        const Code *c = code_find(code);

        if (c)
                fprintf(f, "  %s\n\n  What to do: %s\n", c->meaning,
                                isempty(remedy) ? c->remedy : remedy);
        else if (!isempty(remedy))
                fprintf(f, "  What to do: %s\n", remedy);
        else
                fprintf(f, "  This code is of a step of your site; firstbootctl log STEP shows more.\n");
}

char *explain_status(json_object *status) {
        json_object *steps = json_get(status, "steps"), *errors = json_get(status, "errors");
        const char *node_code = json_get_string(status, "code");
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        if (node_code) {
                fprintf(f, "%s\n", node_code);
                for (size_t i = 0; errors && i < json_object_array_length(errors); i++)
                        fprintf(f, "  %s\n",
                                        json_object_get_string(
                                                        json_object_array_get_idx(errors, i)));
                if (!errors)
                        fprintf(f, "  %s\n", strempty(json_get_string(status, "message")));
                fputc('\n', f);
                print_code(f, node_code, NULL);
        }
        for (size_t i = 0; json_object_is_type(steps, json_type_array) &&
                           i < json_object_array_length(steps);
                        i++) {
                json_object *step = json_object_array_get_idx(steps, i),
                            *result = json_get(step, "result");
                const char *s = strempty(json_get_string(step, "status")),
                           *code = json_get_string(result, "code");

                if (!code || (!streq(s, "failed") && !streq(s, "degraded") &&
                                             !streq(s, "retrying")))
                        continue;
                fprintf(f, "%s%s is %s: %s\n  %s\n", ftell(f) > 0 ? "\n" : "",
                                json_get_string(step, "name"), s, code,
                                strempty(json_get_string(result, "message")));
                json_object *figures = json_get(result, "figures");
                if (figures)
                        fprintf(f, "  %s\n",
                                        json_object_to_json_string_ext(figures,
                                                        JSON_C_TO_STRING_SPACED |
                                                                        JSON_C_TO_STRING_NOSLASHESCAPE));
                fputc('\n', f);
                print_code(f, code, json_get_string(result, "remedy"));
                fprintf(f, "  More: firstbootctl log %s\n", json_get_string(step, "name"));
        }
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

int verb_explain(Ctl *c, int argc, char *argv[]) {
        _cleanup_json_ json_object *status = NULL;
        _cleanup_free_ char *text = NULL;

        if (argc > 1)
                return EXIT_USAGE;
        if (argc == 1) {
                const Code *code = code_find(argv[0]);

                if (!code) {
                        log_error("There is no reason code \"%s\"; docs/steps.md lists them all",
                                        argv[0]);
                        return EXIT_FAILURE;
                }
                printf("%s: %s\n\n", code->code, code->title);
                print_code(stdout, code->code, NULL);
                return EXIT_SUCCESS;
        }
        if (ctl_status(c, &status) < 0) {
                log_error("firstbootd does not run and left no status");
                return EXIT_UNKNOWN;
        }
        text = explain_status(status);
        if (!text)
                return EXIT_FAILURE;
        fputs(text[0] ? text : "Nothing is wrong.\n", stdout);
        return EXIT_SUCCESS;
}
