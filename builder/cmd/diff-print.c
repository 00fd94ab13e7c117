/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints a comparison for people: facts, packages, then files, at most SHOWN of a kind. */

#include "cmd/diff-print.h"
#include "inspect/diff.h"

#define SHOWN 40 /* files of one kind */

static const char *text_of(json_object *o, const char *key) {
        json_object *v = json_get(o, key);

        return v ? json_as_text(v) : NULL;
}

static void print_changes(json_object *array, const char *key) {
        for (size_t i = 0; i < json_object_array_length(array); i++) {
                json_object *o = json_object_array_get_idx(array, i);
                const char *from = text_of(o, "from"), *to = text_of(o, "to"),
                           *name = json_get_string(o, key);

                if (from && to)
                        printf("  ~ %s  %s → %s\n", name, from, to);
                else
                        printf("  %c %s  %s\n", from ? '-' : '+', name, from ? from : strempty(to));
        }
}

static void print_packages(json_object *packages) {
        static const char *const kinds[] = { "removed", "added", "changed" };
        size_t n = 0;

        for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                n += json_object_array_length(json_get(packages, kinds[k]));
        if (n == 0)
                return;
        printf("packages\n");
        for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                print_changes(json_get(packages, kinds[k]), "name");
}

/* "  ~ /etc/hosts  (size, mode)", or the path alone. */
static void print_file(json_object *o, char mark) {
        json_object *what = json_get(o, "what");

        printf("  %c %s", mark, what ? json_get_string(o, "path") : json_object_get_string(o));
        for (size_t i = 0; what && i < json_object_array_length(what); i++)
                printf("%s%s", i == 0 ? "  (" : ", ",
                                json_object_get_string(json_object_array_get_idx(what, i)));
        printf("%s\n", what ? ")" : "");
}

static void print_files(json_object *files, bool all) {
        static const struct {
                const char *key;
                char mark;
        } kinds[] = { { "removed", '-' }, { "added", '+' }, { "changed", '~' } };
        bool any = false;

        for (size_t k = 0; files && k < ELEMENTSOF(kinds); k++) {
                json_object *l = json_get(files, kinds[k].key);
                size_t n = json_object_array_length(l);

                if (n > 0 && !any) {
                        printf("files\n");
                        any = true;
                }
                for (size_t i = 0; i < n && (all || i < SHOWN); i++)
                        print_file(json_object_array_get_idx(l, i), kinds[k].mark);
                if (!all && n > SHOWN)
                        printf("  %c … and %zu more; --all lists them\n", kinds[k].mark, n - SHOWN);
        }
}

void diff_print(json_object *d, bool all) {
        json_object *facts = json_get(d, "facts");

        (void) json_disarm(d, false); /* an image's own words */
        if (diff_is_empty(d)) {
                printf("No difference.\n");
                return;
        }
        if (json_object_array_length(facts) > 0) {
                printf("versions\n");
                print_changes(facts, "what");
        }
        print_packages(json_get(d, "packages"));
        print_files(json_get(d, "files"), all);
}
