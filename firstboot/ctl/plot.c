/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl plot: the boot as a time line in SVG. Grey: waiting for others; green, red:
 * attempts that went well or not; hatched: the pause before the next one. */

#include "ctl/ctl.h"
#include "shared/log.h"

#define ROW 26
#define LEFT 130
#define TOP 60
#define WIDTH 900

static void put_text(FILE *f, const char *s) {
        for (; s && *s; s++)
                switch (*s) {
                case '<':
                        fputs("&lt;", f);
                        break;
                case '>':
                        fputs("&gt;", f);
                        break;
                case '&':
                        fputs("&amp;", f);
                        break;
                case '"':
                        fputs("&quot;", f);
                        break;
                default:
                        fputc((unsigned char) *s < 0x20 ? ' ' : *s, f);
                }
}

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

        if (to <= from)
                return;
        fprintf(f, "<rect class=\"%s\" x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\"><title>",
                        class, x, TOP + row * ROW + 4, width, ROW - 8);
        put_text(f, title);
        fprintf(f, " (%.3f s)</title></rect>\n", (double) (to - from) / USEC_PER_SEC);
}

/* A step of 1, 2 or 5 times a power of ten that gives at most twelve lines. */
static double grid_step(double seconds) {
        double step = 0.001;

        for (unsigned i = 0; seconds / step > 12; i++)
                step *= i % 3 == 1 ? 2.5 : 2;
        return step;
}

static void draw_step(FILE *f, const Scale *s, json_object *step, size_t row, uint64_t now) {
        json_object *attempts = json_get(step, "attempts"), *result = json_get(step, "result");
        uint64_t free_usec = (uint64_t) json_get_int(step, "free_usec", 0), before = 0;
        const char *status = json_get_string(step, "status");
        size_t n = attempts ? json_object_array_length(attempts) : 0;

        fprintf(f, "<text class=\"name\" x=\"%d\" y=\"%zu\">", LEFT - 8,
                        TOP + row * ROW + ROW / 2 + 4);
        put_text(f, json_get_string(step, "name"));
        fprintf(f, "</text>\n");
        bar(f, s, row, s->from,
                        free_usec ? free_usec
                        : n == 0  ? s->to
                                  : 0,
                        "wait", "waiting for what it requires");
        for (size_t i = 0; i < n; i++) {
                json_object *a = json_object_array_get_idx(attempts, i);
                uint64_t from = (uint64_t) json_get_int(a, "started_usec", 0),
                         to = (uint64_t) json_get_int(a, "finished_usec", 0);
                const char *code = json_get_string(a, "code");

                if (before > 0)
                        bar(f, s, row, before, from, "pause", "pause before the next attempt");
                bar(f, s, row, from, to ? to : now,
                                to == 0         ? "running"
                                : isempty(code) ? "good"
                                                : "bad",
                                to == 0         ? "running"
                                : isempty(code) ? strempty(status)
                                                : code);
                before = to;
        }
        if (before > 0) {
                fprintf(f, "<text class=\"note\" x=\"%.1f\" y=\"%zu\">%.2f s ", x_of(s, before) + 5,
                                TOP + row * ROW + ROW / 2 + 4,
                                (double) step_duration(step) / USEC_PER_SEC);
                put_text(f, json_get_string(result, "code"));
                fprintf(f, "</text>\n");
        }
}

char *plot_svg(json_object *status, uint64_t now) {
        json_object *steps = json_get(status, "steps");
        size_t n = json_object_is_type(steps, json_type_array) ? json_object_array_length(steps)
                                                               : 0,
               size;
        Scale s = { (uint64_t) json_get_int(status, "started_usec", 0),
                (uint64_t) json_get_int(status, "settled_usec", 0) };
        char *text = NULL;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        if (s.to <= s.from)
                s.to = MAX(now, s.from + 1);
        double seconds = (double) (s.to - s.from) / USEC_PER_SEC, step = grid_step(seconds);
        size_t bottom = TOP + n * ROW + 10;

        fprintf(f,
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" font-family=\"sans-serif\" font-size=\"12\">\n"
                        "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fff3d6\"/><line y2=\"6\" stroke=\"#e0a020\" stroke-width=\"3\"/></pattern></defs>\n"
                        "<style>.wait{fill:#ececec}.good{fill:#5aa469}.bad{fill:#cc4b4b}.running{fill:#4a90c2}.pause{fill:url(#hatch)}.name{text-anchor:end;fill:#222}.note{fill:#444;font-size:10px}.grid{stroke:#ddd}.tick{fill:#888;font-size:10px;text-anchor:middle}.title{font-size:15px;fill:#222}</style>\n"
                        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                        LEFT + WIDTH + 170, bottom + 20);
        fprintf(f, "<text class=\"title\" x=\"12\" y=\"24\">Node is ");
        put_text(f, json_get_string(status, "node"));
        fprintf(f, " after %.2f s, instance ", seconds);
        put_text(f, json_get_string(status, "instance_id"));
        fprintf(f, ", boot %lld</text>\n", (long long) json_get_int(status, "boots", 0));
        for (double t = 0; t <= seconds; t += step) {
                double x = x_of(&s, s.from + (uint64_t) (t * USEC_PER_SEC));

                fprintf(f, "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%zu\"/><text class=\"tick\" x=\"%.1f\" y=\"%d\">%g s</text>\n",
                                x, TOP - 6, x, bottom, x, TOP - 12, t);
        }
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
        if (ctl_status(c, &status) < 0) {
                log_error("firstbootd does not run and left no status");
                return EXIT_UNKNOWN;
        }
        svg = plot_svg(status, ctl_now_usec());
        if (!svg)
                return EXIT_FAILURE;
        return fputs(svg, stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
