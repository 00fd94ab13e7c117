/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Folders in folders, as far as there is room for them: what would be smaller than SMALLEST is one
 * rectangle with its like, so a page has some thousand of them however many files there are. */

#include "cmd/diff-map.h"
#include "cmd/html.h"
#include "cmd/treemap.h"
#include "shared/size.h"
#include "shared/strv.h"

#define WIDTH 1200.0
#define HEIGHT 680.0
#define SMALLEST 40.0 /* an area */
#define HEAD 14.0     /* a folder's name */
#define INSET 2.0
#define REST "…"   /* begins what stands for many */
#define LETTER 6.3 /* how wide it is about */

static const char *class_of(const ByteTree *t) {
        return t->changed == 0 ? "same" : t->before == 0 ? "new" : "other";
}

static void put_title(FILE *f, const ByteTree *t, const char *path) {
        char before[FORMAT_BYTES_MAX], after[FORMAT_BYTES_MAX], changed[FORMAT_BYTES_MAX];

        fprintf(f, "<title>");
        html_text(f, *path ? path : "/");
        fprintf(f, "\n%s", format_bytes(after, t->after));
        if (t->before != t->after)
                fprintf(f, ", was %s", format_bytes(before, t->before));
        if (t->changed > 0)
                fprintf(f, "\n%s in new or changed files", format_bytes(changed, t->changed));
        fprintf(f, "</title>");
}

/* What fits into so many pixels. */
static void put_label(FILE *f, const char *name, double x, double y, double width) {
        size_t room = width > 8 ? (size_t) ((width - 8) / LETTER) : 0, length = strlen(name);
        _cleanup_free_ char *shown = NULL;

        if (room < 3 || (length > room && startswith(name, REST)))
                return;
        if (length > room) {
                length = room - 1;
                while (length > 0 && ((unsigned char) name[length] & 0xc0) == 0x80)
                        length--;
        }
        shown = strf("%.*s%s", (int) length, name, length < strlen(name) ? "…" : "");
        if (!shown)
                return;
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\">", x, y);
        html_text(f, shown);
        fprintf(f, "</text>\n");
}

static int draw(FILE *f, const ByteTree *t, const char *path, Area a);

/* How many children, the largest first, are drawn by themselves, and their sizes; behind them what
 * the others have together. */
static int choose(const ByteTree *t, double area, const ByteTree ***ret_shown, uint64_t **ret_sizes,
                size_t *ret_n, ByteTree *ret_rest) {
        _cleanup_free_ const ByteTree **shown = calloc(t->n + 1, sizeof(*shown));
        _cleanup_free_ uint64_t *sizes = calloc(t->n + 1, sizeof(*sizes));
        ByteTree rest = {};
        size_t n = 0;

        if (!shown || !sizes)
                return -ENOMEM;
        for (const ByteTree *c = t->children; c < t->children + t->n; c++) {
                if (area * (double) c->after / (double) t->after >= SMALLEST) {
                        shown[n] = c;
                        sizes[n++] = c->after;
                        continue;
                }
                rest.before += c->before;
                rest.after += c->after;
                rest.changed += c->changed;
                rest.n++;
        }
        *ret_shown = TAKE_PTR(shown);
        *ret_sizes = TAKE_PTR(sizes);
        *ret_n = n;
        *ret_rest = rest;
        return 0;
}

static int by_size_after(const void *x, const void *y) {
        const ByteTree *a = *(const ByteTree *const *) x, *b = *(const ByteTree *const *) y;

        return a->after != b->after ? (a->after < b->after ? 1 : -1) : strcmp(a->name, b->name);
}

static int draw_children(FILE *f, const ByteTree *t, const char *path, Area a) {
        _cleanup_free_ const ByteTree **shown = NULL;
        _cleanup_free_ uint64_t *sizes = NULL;
        _cleanup_free_ Area *areas = NULL;
        ByteTree rest;
        size_t n;
        int r;

        r = choose(t, a.width * a.height, &shown, &sizes, &n, &rest);
        if (r < 0)
                return r;
        areas = calloc(n + 1, sizeof(*areas));
        if (!areas)
                return -ENOMEM;
        qsort(shown, n, sizeof(*shown), by_size_after);
        for (size_t i = 0; i < n; i++)
                sizes[i] = shown[i]->after;
        sizes[n] = rest.after;
        treemap_divide(sizes, n + (rest.after > 0), t->after, a, areas);

        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *child = strf("%s/%s", path, shown[i]->name);

                if (!child)
                        return -ENOMEM;
                r = draw(f, shown[i], child, areas[i]);
                if (r < 0)
                        return r;
        }
        if (rest.after > 0) {
                _cleanup_free_ char *child = strf("%s/" REST " %zu more", path, rest.n);

                if (!child)
                        return -ENOMEM;
                rest.n = 0;
                return draw(f, &rest, child, areas[n]);
        }
        return 0;
}

static int draw(FILE *f, const ByteTree *t, const char *path, Area a) {
        bool folder = t->n > 0 && a.width > 3 * HEAD && a.height > 2 * HEAD;
        Area inner = { a.x + INSET, a.y + HEAD, a.width - 2 * INSET, a.height - HEAD - INSET };
        double part = t->after > 0 ? (double) t->changed / (double) t->after : 0;

        fprintf(f, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill-opacity=\"%.2f\">",
                        class_of(t), a.x, a.y, a.width, a.height,
                        folder                              ? 0.25
                        : t->changed == 0 || t->before == 0 ? 1
                                                            : 0.45 + 0.55 * part);
        put_title(f, t, path);
        fprintf(f, "</rect>\n");
        if (a.height > HEAD)
                put_label(f, *path ? strrchr(path, '/') + 1 : "/", a.x + 4, a.y + 11, a.width);
        return folder && t->after > 0 ? draw_children(f, t, path, inner) : 0;
}

int diff_map(FILE *f, const ByteTree *bytes) {
        int r;

        if (bytes->after == 0)
                return 0;
        fprintf(f,
                        "<h2>Where the bytes are</h2>\n<p class=\"key\">The new image's files by size:"
                        "<span class=\"same\" style=\"background:var(--same)\"></span>as they were"
                        "<span style=\"background:var(--other)\"></span>changed"
                        "<span style=\"background:var(--new)\"></span>new</p>\n"
                        "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"Where the bytes are\">\n",
                        WIDTH, HEIGHT);
        r = draw(f, bytes, "", (Area) { 0, 0, WIDTH, HEIGHT });
        if (r < 0)
                return r;
        fprintf(f, "</svg>\n");
        return 0;
}
