/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The page of a comparison: figures, tables, and the files that they are made of in folded lists.
 * The treemap is diff-map.c's. */

#include "cmd/diff-html.h"
#include "cmd/diff-map.h"
#include "cmd/html.h"
#include "shared/size.h"
#include "shared/strv.h"

#define SHOWN 1000 /* files of one kind */
#define GROWN 20   /* folders and files that grew or shrank most */

static const char style[] =
                ":root{color-scheme:light dark;--ink:#1c2733;--soft:#5d6b7a;--line:#d5dce3;--paper:#fff;"
                "--same:#b9c6d3;--other:#e8973a;--new:#54a56c;--gone:#c4554d}"
                "@media(prefers-color-scheme:dark){:root{--ink:#e3e9ef;--soft:#9aa8b6;--line:#39434d;--paper:#161b20;"
                "--same:#4b5a69;--other:#b9722a;--new:#3b7f50;--gone:#d67a72}}"
                "body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
                "max-width:1200px;margin:2em auto;padding:0 1em}"
                "h1{font-size:1.5em}h2{font-size:1.15em;margin:1.8em 0 .5em}"
                "h1 small{display:block;font-weight:normal;font-size:.65em;color:var(--soft);overflow-wrap:anywhere}"
                "ul.sums{display:flex;flex-wrap:wrap;gap:.6em 2.2em;padding:0;list-style:none}"
                "ul.sums b{display:block;font-size:1.35em}ul.sums li{color:var(--soft)}ul.sums b{color:var(--ink)}"
                "table{border-collapse:collapse;width:100%}"
                "td,th{text-align:left;padding:.25em .8em .25em 0;border-bottom:1px solid var(--line);"
                "overflow-wrap:anywhere;vertical-align:top}th{color:var(--soft);font-weight:normal}"
                "td.n,th.n{text-align:right;white-space:nowrap}"
                ".added{color:var(--new)}.removed{color:var(--gone)}"
                "svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:var(--ink);pointer-events:none}"
                "rect{stroke:var(--paper);stroke-width:1}"
                ".same{fill:var(--same)}.other{fill:var(--other)}.new{fill:var(--new)}"
                ".key span{display:inline-block;width:1em;height:1em;vertical-align:-.15em;margin:0 .4em 0 1.2em}"
                "ol.files{list-style:none;padding:0;font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}"
                "summary{cursor:pointer}";

static const char *const kinds[] = { "removed", "added", "changed" };

/* "+1.5 MiB", "−3 B". */
static void put_growth(FILE *f, uint64_t before, uint64_t after) {
        char text[FORMAT_BYTES_MAX];

        fprintf(f, "%s%s", after < before ? "−" : "+",
                        format_bytes(text, after < before ? before - after : after - before));
}

static void put_sum(FILE *f, const char *value, const char *what) {
        fprintf(f, "<li><b>%s</b>%s</li>\n", value, what);
}

static void put_sums(FILE *f, const DiffPage *p) {
        static const struct {
                const char *key, *what;
        } counted[] = { { "packages", "packages removed, added, changed" },
                { "files", "files removed, added, changed" } };

        fprintf(f, "<ul class=\"sums\">\n");
        if (p->bytes) {
                char before[FORMAT_BYTES_MAX], after[FORMAT_BYTES_MAX], changed[FORMAT_BYTES_MAX];

                fprintf(f, "<li><b>%s → %s</b>in files (", format_bytes(before, p->bytes->before),
                                format_bytes(after, p->bytes->after));
                put_growth(f, p->bytes->before, p->bytes->after);
                fprintf(f, ")</li>\n");
                put_sum(f, format_bytes(changed, p->bytes->changed), "in new or changed files");
        }
        for (size_t i = 0; i < ELEMENTSOF(counted); i++) {
                json_object *o = json_get(p->difference, counted[i].key);
                char text[80];

                if (!o)
                        continue;
                snprintf(text, sizeof(text), "−%zu +%zu ~%zu",
                                json_array_length(json_get(o, "removed")),
                                json_array_length(json_get(o, "added")),
                                json_array_length(json_get(o, "changed")));
                put_sum(f, text, counted[i].what);
        }
        fprintf(f, "</ul>\n");
}

static void put_cell(FILE *f, json_object *o, const char *key) {
        json_object *v = json_get(o, key);
        const char *text = v ? json_as_text(v) : NULL;

        fprintf(f, "<td>");
        html_text(f, strempty(text));
        fprintf(f, "</td>");
}

static void put_rows(FILE *f, json_object *changes, const char *name) {
        for (size_t i = 0; i < json_array_length(changes); i++) {
                json_object *o = json_object_array_get_idx(changes, i);
                bool from = json_get(o, "from"), to = json_get(o, "to");

                fprintf(f, "<tr%s>",
                                from && to ? ""
                                : from     ? " class=\"removed\""
                                           : " class=\"added\"");
                put_cell(f, o, name);
                put_cell(f, o, "from");
                put_cell(f, o, "to");
                fprintf(f, "</tr>\n");
        }
}

static void put_table_head(FILE *f, const char *title, const char *first) {
        fprintf(f, "<h2>%s</h2>\n<table>\n<tr><th>%s</th><th>before</th><th>after</th></tr>\n",
                        title, first);
}

static void put_versions(FILE *f, json_object *difference) {
        json_object *facts = json_get(difference, "facts"),
                    *packages = json_get(difference, "packages");
        size_t n = 0;

        if (json_array_length(facts) > 0) {
                put_table_head(f, "Versions", "what");
                put_rows(f, facts, "what");
                fprintf(f, "</table>\n");
        }
        for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                n += json_array_length(json_get(packages, kinds[k]));
        if (n == 0)
                return;
        put_table_head(f, "Packages", "package");
        for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                put_rows(f, json_get(packages, kinds[k]), "name");
        fprintf(f, "</table>\n");
}

/* --- what grew -------------------------------------------------------------------------------- */

typedef struct Grown {
        char *path;
        uint64_t before, after;
} Grown;

typedef struct GrownList {
        Grown most[GROWN]; /* the most first */
        size_t n;
} GrownList;

static void grown_done(GrownList *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->most[i].path);
}

static uint64_t growth(uint64_t before, uint64_t after) {
        return after > before ? after - before : before - after;
}

static int add_grown(GrownList *l, const char *path, const ByteTree *t) {
        uint64_t much = growth(t->before, t->after);
        size_t i = l->n;
        char *copy;

        while (i > 0 && growth(l->most[i - 1].before, l->most[i - 1].after) < much)
                i--;
        if (i == GROWN)
                return 0;
        copy = strdup(path);
        if (!copy)
                return -ENOMEM;
        if (l->n == GROWN)
                free(l->most[--l->n].path);
        memmove(l->most + i + 1, l->most + i, (l->n - i) * sizeof(*l->most));
        l->most[i] = (Grown) { copy, t->before, t->after };
        l->n++;
        return 0;
}

/* A folder stands for what is in it, unless one thing in it is most of the difference. */
static int find_grown(const ByteTree *t, const char *path, GrownList *l) {
        uint64_t most = 0;
        int r;

        for (size_t i = 0; i < t->n; i++)
                most = MAX(most, growth(t->children[i].before, t->children[i].after));
        if (most == 0 || (*path && most < growth(t->before, t->after) / 2))
                return growth(t->before, t->after) > 0 ? add_grown(l, path, t) : 0;
        for (size_t i = 0; i < t->n; i++) {
                _cleanup_free_ char *child = strf("%s/%s", path, t->children[i].name);

                if (!child)
                        return -ENOMEM;
                r = find_grown(t->children + i, child, l);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int put_grown(FILE *f, const ByteTree *bytes) {
        _cleanup_(grown_done) GrownList l = {};
        char before[FORMAT_BYTES_MAX], after[FORMAT_BYTES_MAX];
        int r;

        r = find_grown(bytes, "", &l);
        if (r < 0 || l.n == 0)
                return r;
        fprintf(f, "<h2>Grew and shrank most</h2>\n<table>\n<tr><th>where</th><th class=\"n\">before</th><th class=\"n\">after</th><th class=\"n\">difference</th></tr>\n");
        for (const Grown *g = l.most; g < l.most + l.n; g++) {
                fprintf(f, "<tr><td>");
                html_text(f, g->path);
                fprintf(f, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">",
                                format_bytes(before, g->before), format_bytes(after, g->after));
                put_growth(f, g->before, g->after);
                fprintf(f, "</td></tr>\n");
        }
        fprintf(f, "</table>\n");
        return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

static void put_file(FILE *f, json_object *o) {
        json_object *what = json_get(o, "what");

        fprintf(f, "<li>");
        html_text(f, strempty(what ? json_get_string(o, "path") : json_object_get_string(o)));
        for (size_t i = 0; i < json_array_length(what); i++) {
                fprintf(f, "%s", i == 0 ? " (" : ", ");
                html_text(f, json_object_get_string(json_object_array_get_idx(what, i)));
        }
        fprintf(f, "%s</li>\n", what ? ")" : "");
}

static void put_files(FILE *f, json_object *files, bool all) {
        for (size_t k = 0; k < ELEMENTSOF(kinds); k++) {
                json_object *l = json_get(files, kinds[k]);
                size_t n = json_array_length(l), shown = all ? n : MIN(n, (size_t) SHOWN);

                if (n == 0)
                        continue;
                fprintf(f, "<details><summary>%zu files %s</summary>\n<ol class=\"files\">\n", n,
                                kinds[k]);
                for (size_t i = 0; i < shown; i++)
                        put_file(f, json_object_array_get_idx(l, i));
                if (shown < n)
                        fprintf(f, "<li>… and %zu more; --all lists them</li>\n", n - shown);
                fprintf(f, "</ol></details>\n");
        }
}

static int put_page(FILE *f, const DiffPage *p) {
        int r;

        fprintf(f, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
        html_text(f, p->to);
        fprintf(f, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>What changed<small>", style);
        html_text(f, p->from);
        fprintf(f, " → ");
        html_text(f, p->to);
        fprintf(f, "</small></h1>\n");
        put_sums(f, p);
        if (diff_is_empty(p->difference))
                fprintf(f, "<p>No difference.</p>\n");

        if (p->bytes) {
                r = diff_map(f, p->bytes);
                if (r < 0)
                        return r;
                r = put_grown(f, p->bytes);
                if (r < 0)
                        return r;
        }
        put_versions(f, p->difference);
        if (json_get(p->difference, "files") && !diff_is_empty(p->difference))
                fprintf(f, "<h2>Files</h2>\n");
        put_files(f, json_get(p->difference, "files"), p->all);
        fprintf(f, "</body>\n</html>\n");
        return 0;
}

int diff_page(const DiffPage *page, char **ret, size_t *ret_size) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);
        int r;

        if (!f)
                return -ENOMEM;
        r = put_page(f, page);
        if (ferror(f))
                r = -ENOMEM;
        if (fclose(f) != 0 || r < 0)
                return r < 0 ? r : -ENOMEM;
        *ret = TAKE_PTR(text);
        *ret_size = size;
        return 0;
}
