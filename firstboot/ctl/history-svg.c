/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl plot --history: a panel for each key figure, entries from left to right; verdicts
 * are dots below, red where the node was not ready. */

#include "ctl/ctl.h"
#include "contract/history.h"

#define LEFT 90
#define WIDTH 900
#define PANEL 90
#define GAP 34
#define TOP 50

static double x_of(size_t i, size_t n) {
        return LEFT + (n > 1 ? (double) i / (double) (n - 1) : 0.5) * WIDTH;
}

static bool range_of(const HistoryEntry *l, size_t n, HistoryFigure f, double *ret_low,
                double *ret_high) {
        bool any = false;

        for (size_t i = 0; i < n; i++) {
                if (!l[i].known[f])
                        continue;
                *ret_low = any ? MIN(*ret_low, l[i].figures[f]) : l[i].figures[f];
                *ret_high = any ? MAX(*ret_high, l[i].figures[f]) : l[i].figures[f];
                any = true;
        }
        if (any) {
                *ret_low = MIN(*ret_low, *ret_high * 0.8); /* noise is to look like noise */
                if (*ret_high <= *ret_low)
                        *ret_high = *ret_low + 1;
        }
        return any;
}

static void draw_panel(FILE *f, const HistoryEntry *l, size_t n, HistoryFigure k, size_t top) {
        const HistoryFigureInfo *info = &history_figure_info[k];
        double low = 0, high = 0;

        if (!range_of(l, n, k, &low, &high))
                return;
        fprintf(f,
                        "<text class=\"name\" x=\"%d\" y=\"%zu\">%s: %s</text>\n"
                        "<text class=\"tick\" x=\"%d\" y=\"%zu\">%.4g %s</text>"
                        "<text class=\"tick\" x=\"%d\" y=\"%zu\">%.4g</text>\n"
                        "<rect class=\"panel\" x=\"%d\" y=\"%zu\" width=\"%d\" height=\"%d\"/>\n"
                        "<polyline class=\"line\" points=\"",
                        LEFT, top - 6, info->name, info->help, LEFT - 6, top + 10, high, info->unit,
                        LEFT - 6, top + PANEL, low, LEFT, top, WIDTH, PANEL);
        for (size_t i = 0; i < n; i++)
                if (l[i].known[k])
                        fprintf(f, "%.1f,%.1f ", x_of(i, n),
                                        (double) top + PANEL * (high - l[i].figures[k]) /
                                                                        (high - low));
        fprintf(f, "\"/>\n");
}

static void draw_verdicts(FILE *f, const HistoryEntry *l, size_t n, size_t y) {
        for (size_t i = 0; i < n; i++) {
                const char *class = streq(l[i].verdict, "failed") ? "bad" : "good";

                fprintf(f, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%zu\" r=\"3\"><title>", class,
                                x_of(i, n), y);
                plot_text(f, l[i].verdict);
                plot_text(f, " ");
                plot_text(f, l[i].code);
                plot_text(f, " ");
                plot_text(f, l[i].text);
                fprintf(f, "</title></circle>\n");
        }
}

char *history_svg(const HistoryEntry *entries, size_t n) {
        size_t size, panels = 0, drawn = 0;
        char *text = NULL;
        FILE *f = open_memstream(&text, &size);
        double low, high;

        if (!f)
                return NULL;
        for (size_t i = 0; i < _HISTORY_FIGURES; i++)
                panels += range_of(entries, n, (HistoryFigure) i, &low, &high);
        fprintf(f,
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" font-family=\"sans-serif\" font-size=\"12\">\n"
                        "<style>.name{fill:#222}.tick{fill:#888;font-size:10px;text-anchor:end}"
                        ".panel{fill:#f7f7f7}.line{fill:none;stroke:#4a90c2;stroke-width:1.5}"
                        ".good{fill:#5aa469}.bad{fill:#cc4b4b}</style>\n"
                        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                        "<text class=\"name\" x=\"12\" y=\"20\">%zu entries</text>\n",
                        LEFT + WIDTH + 30, TOP + panels * (PANEL + GAP) + 30, n);
        for (size_t i = 0; i < _HISTORY_FIGURES; i++) {
                if (!range_of(entries, n, (HistoryFigure) i, &low, &high))
                        continue;
                draw_panel(f, entries, n, (HistoryFigure) i, TOP + drawn * (PANEL + GAP));
                drawn++;
        }
        draw_verdicts(f, entries, n, TOP + panels * (PANEL + GAP));
        fprintf(f, "</svg>\n");
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}
