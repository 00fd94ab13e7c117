/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A step's figures for people: one a line, what belongs together under one name, and what is there
 * of several things of a kind (GPUs, links) as a table. */

#include "ctl/ctl.h"

#define INDENT 4
#define COLUMNS_MAX 24

static const char *text_of(json_object *o) {
        if (!o)
                return "-";
        return json_object_is_type(o, json_type_string)
                               ? json_object_get_string(o)
                               : json_object_to_json_string_ext(
                                                 o, JSON_C_TO_STRING_SPACED |
                                                                    JSON_C_TO_STRING_NOSLASHESCAPE);
}

static bool is_plain(json_object *o) {
        return !json_object_is_type(o, json_type_array) &&
               !json_object_is_type(o, json_type_object);
}

/* A list of objects of plain values. */
static bool is_table(json_object *o) {
        if (!json_object_is_type(o, json_type_array) || json_object_array_length(o) == 0)
                return false;
        for (size_t i = 0; i < json_object_array_length(o); i++) {
                json_object *row = json_object_array_get_idx(o, i);

                if (!json_object_is_type(row, json_type_object))
                        return false;
                json_object_object_foreach (row, key, value) {
                        (void) key;
                        if (!is_plain(value))
                                return false;
                }
        }
        return true;
}

/* The keys of all rows, in the order in which they come first. */
static char **columns_of(json_object *table) {
        _cleanup_strv_free_ char **l = NULL;

        for (size_t i = 0; i < json_object_array_length(table); i++) {
                json_object *row = json_object_array_get_idx(table, i);

                json_object_object_foreach (row, key, value) {
                        (void) value;
                        if (!strv_contains(l, key) && strv_length(l) < COLUMNS_MAX &&
                                        strv_extend(&l, key) < 0)
                                return NULL;
                }
        }
        return TAKE_PTR(l);
}

static int column_width(json_object *table, const char *column) {
        size_t width = strlen(column);

        for (size_t i = 0; i < json_object_array_length(table); i++)
                width = MAX(width, strlen(text_of(json_get(
                                                   json_object_array_get_idx(table, i), column))));
        return (int) width;
}

static void print_table(FILE *f, json_object *table, int indent) {
        _cleanup_strv_free_ char **columns = columns_of(table);

        fprintf(f, "%*s", indent, "");
        STRV_FOREACH (c, columns)
                fprintf(f, "%-*s%s", c[1] ? column_width(table, *c) : 0, *c, c[1] ? "  " : "\n");
        for (size_t i = 0; i < json_object_array_length(table); i++) {
                json_object *row = json_object_array_get_idx(table, i);

                fprintf(f, "%*s", indent, "");
                STRV_FOREACH (c, columns)
                        fprintf(f, "%-*s%s", c[1] ? column_width(table, *c) : 0,
                                        text_of(json_get(row, *c)), c[1] ? "  " : "\n");
        }
}

/* "a, b, c" of a list of plain values; NULL where it is none. */
static char *list_text(json_object *o) {
        _cleanup_strv_free_ char **l = NULL;

        if (!json_object_is_type(o, json_type_array))
                return NULL;
        for (size_t i = 0; i < json_object_array_length(o); i++) {
                json_object *item = json_object_array_get_idx(o, i);

                if (!is_plain(item) || strv_extend(&l, text_of(item)) < 0)
                        return NULL;
        }
        return l ? strv_join(l, ", ") : strdup("none");
}

static void print_object(FILE *f, json_object *o, int indent) {
        int width = 0;

        json_object_object_foreach (o, name, unused) {
                (void) unused;
                width = MAX(width, (int) strlen(name));
        }
        json_object_object_foreach (o, key, value) {
                _cleanup_free_ char *list = list_text(value);

                if (is_table(value)) {
                        fprintf(f, "%*s%s\n", indent, "", key);
                        print_table(f, value, indent + 2);
                } else if (json_object_is_type(value, json_type_object)) {
                        fprintf(f, "%*s%s\n", indent, "", key);
                        print_object(f, value, indent + 2);
                } else
                        fprintf(f, "%*s%-*s  %s\n", indent, "", width, key,
                                        list ? list : text_of(value));
        }
}

void figures_print(FILE *f, json_object *figures) {
        if (json_object_is_type(figures, json_type_object))
                print_object(f, figures, INDENT);
}
