/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl plot: the boot as a time line in SVG. Grey: waiting for others; green, red:
 * attempts that went well or not; hatched: the pause before the next one. */

#include "ctl/ctl.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/time-util.h"

#define ROW 26
#define LEFT 130
#define TOP 60
#define WIDTH 900

typedef struct Scale {
        uint64_t from, to;
} Scale;

static double x_of(const Scale *s, uint64_t usec) {
        uint64_t t = MIN(MAX(usec, s->from), s->to);

        return LEFT + (double) (t - s->from) / (double) (s->to - s->from) * WIDTH;
}

static void bar(FILE *f, const Scale *s, size_t row, uint64_t from, uint64_t to, const char *class,
                const char *title) {
        double x = x_of(s, from), width = MAX(x_of(s, to) - x, 1.0);
        char took[FORMAT_DURATION_MAX];

        if (to <= from)
                return;
        fprintf(f, "<rect class=\"%s\" x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\"><title>",
                        class, x, TOP + row * ROW + 4, width, ROW - 8);
        plot_text(f, title);
        fprintf(f, " (%s)</title></rect>\n", format_duration_finely(took, to - from));
}

/* A step of 1, 2 or 5 times a power of ten that gives at most twelve lines. */
static double grid_step(double seconds) {
        double step = 0.001;

        for (unsigned i = 0; seconds / step > 12; i++)
                step *= i % 3 == 1 ? 2.5 : 2;
        return step;
}

/* One attempt; its reason, or where it went well the step's status, is the bar's title. */
static void draw_attempt(FILE *f, const Scale *s, json_object *attempt, size_t row,
                const char *status, uint64_t now) {
        uint64_t from = (uint64_t) json_get_int(attempt, "started_usec", 0),
                 to = (uint64_t) json_get_int(attempt, "finished_usec", 0);
        const char *code = json_get_string(attempt, "code");

        if (to == 0)
                bar(f, s, row, from, now, "running", "running");
        else if (isempty(code))
                bar(f, s, row, from, to, "good", strempty(status));
        else
                bar(f, s, row, from, to, "bad", code);
}

/* Attempts and the pauses between them. Returns when the last one ended; 0: none has. */
static uint64_t draw_attempts(
                FILE *f, const Scale *s, json_object *step, size_t row, uint64_t now) {
        json_object *attempts = json_get(step, "attempts");
        size_t n = attempts ? json_object_array_length(attempts) : 0;
        uint64_t before = 0;

        for (size_t i = 0; i < n; i++) {
                json_object *a = json_object_array_get_idx(attempts, i);

                if (before > 0)
                        bar(f, s, row, before, (uint64_t) json_get_int(a, "started_usec", 0),
                                        "pause", "pause before the next attempt");
                draw_attempt(f, s, a, row, json_get_string(step, "status"), now);
                before = (uint64_t) json_get_int(a, "finished_usec", 0);
        }
        return before;
}

/* Until it was free to start; a step that never was waited to the end. */
static void draw_wait(FILE *f, const Scale *s, json_object *step, size_t row) {
        json_object *attempts = json_get(step, "attempts");
        uint64_t to = (uint64_t) json_get_int(step, "free_usec", 0);

        if (to == 0 && (!attempts || json_object_array_length(attempts) == 0))
                to = s->to;
        bar(f, s, row, s->from, to, "wait", "waiting for what it requires");
}

static void draw_step(FILE *f, const Scale *s, json_object *step, size_t row, uint64_t now) {
        size_t y = TOP + row * ROW + ROW / 2 + 4;
        char took[FORMAT_DURATION_MAX];
        uint64_t end;

        fprintf(f, "<text class=\"name\" x=\"%d\" y=\"%zu\">", LEFT - 8, y);
        plot_text(f, json_get_string(step, "name"));
        fprintf(f, "</text>\n");

        draw_wait(f, s, step, row);
        end = draw_attempts(f, s, step, row, now);
        if (end == 0)
                return;

        fprintf(f, "<text class=\"note\" x=\"%.1f\" y=\"%zu\">%s ", x_of(s, end) + 5, y,
                        format_duration_finely(took, step_duration(step)));
        plot_text(f, json_get_string(json_get(step, "result"), "code"));
        fprintf(f, "</text>\n");
}

static void draw_head(FILE *f, size_t bottom) {
        fprintf(f,
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" font-family=\"sans-serif\" font-size=\"12\">\n"
                        "<defs>"
                        "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                        "<rect width=\"6\" height=\"6\" fill=\"#fff3d6\"/>"
                        "<line y2=\"6\" stroke=\"#e0a020\" stroke-width=\"3\"/>"
                        "</pattern></defs>\n"
                        "<style>"
                        ".wait{fill:#ececec}.good{fill:#5aa469}.bad{fill:#cc4b4b}.running{fill:#4a90c2}"
                        ".pause{fill:url(#hatch)}.name{text-anchor:end;fill:#222}"
                        ".note{fill:#444;font-size:10px}.grid{stroke:#ddd}.tick{fill:#888;font-size:10px;text-anchor:middle}"
                        ".title{font-size:15px;fill:#222}</style>\n"
                        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                        LEFT + WIDTH + 170, bottom + 20);
}

static void draw_title(FILE *f, json_object *status, uint64_t usec) {
        char took[FORMAT_DURATION_MAX];

        fprintf(f, "<text class=\"title\" x=\"12\" y=\"24\">Node is ");
        plot_text(f, json_get_string(status, "node"));
        fprintf(f, " after %s, instance ", format_duration_finely(took, usec));
        plot_text(f, json_get_string(status, "instance_id"));
        fprintf(f, ", boot %lld</text>\n", (long long) json_get_int(status, "boots", 0));
}

static void draw_grid(FILE *f, const Scale *s, double seconds, size_t bottom) {
        double step = grid_step(seconds);

        for (size_t i = 0; (double) i * step <= seconds; i++) {
                double t = (double) i * step;
                double x = x_of(s, s->from + (uint64_t) (t * USEC_PER_SEC));
                char text[FORMAT_DURATION_MAX];

                if (t < 60)
                        snprintf(text, sizeof(text), "%g s", t);
                else
                        format_duration(text, (uint64_t) (t * USEC_PER_SEC));

                fprintf(f,
                                "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%zu\"/>"
                                "<text class=\"tick\" x=\"%.1f\" y=\"%d\">%s</text>\n",
                                x, TOP - 6, x, bottom, x, TOP - 12, text);
        }
}

char *plot_svg(json_object *status, uint64_t now) {
        Scale s = { (uint64_t) json_get_int(status, "started_usec", 0),
                (uint64_t) json_get_int(status, "settled_usec", 0) };
        char *text = NULL;
        size_t size, n, bottom;
        json_object *steps = status_steps(status, &n);
        FILE *f = open_memstream(&text, &size);
        double seconds;

        if (!f)
                return NULL;
        if (s.to <= s.from)
                s.to = MAX(now, s.from + 1);
        seconds = (double) (s.to - s.from) / USEC_PER_SEC;
        bottom = TOP + n * ROW + 10;

        draw_head(f, bottom);
        draw_title(f, status, s.to - s.from);
        draw_grid(f, &s, seconds, bottom);
        for (size_t i = 0; i < n; i++)
                draw_step(f, &s, json_object_array_get_idx(steps, i), i, now);
        fprintf(f, "</svg>\n");

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

int verb_plot(Ctl *c, int argc, char *argv[]) {
        _cleanup_json_ json_object *status = NULL;
        _cleanup_free_ char *svg = NULL;

        (void) argv;
        if (argc > 0)
                return EXIT_USAGE;
        if (c->history)
                return plot_history(c);
        if (ctl_status(c, &status) < 0)
                return ctl_log_no_status(c, "");
        svg = plot_svg(status, now_usec());
        if (!svg)
                return EXIT_FAILURE;
        fputs(svg, stdout);
        ctl_warn_old_status(c);
        return EXIT_SUCCESS; /* what cannot be written, main() tells */
}
