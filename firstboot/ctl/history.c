/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl history: the last verdicts, one a line, and below them how each key figure went.
 * Entries come in the order in which they were written: a clock that was set back moves none. */

#include "ctl/ctl.h"
#include "contract/history.h"
#include "shared/duration.h"
#include "shared/log.h"

#include <time.h>

#define COLUMNS 60 /* of a line of figures: each is the mean of as many values as it takes */

/* The values of one figure, in order; the caller frees them. */
static double *values_of(const HistoryEntry *l, size_t n, HistoryFigure f, size_t *ret_n) {
        double *values = calloc(n + 1, sizeof(*values));

        *ret_n = 0;
        for (size_t i = 0; values && i < n; i++)
                if (l[i].known[f])
                        values[(*ret_n)++] = l[i].figures[f];
        return values;
}

static double mean(const double *values, size_t from, size_t to) {
        double sum = 0;

        for (size_t i = from; i < to; i++)
                sum += values[i];
        return sum / (double) (to - from);
}

static void print_line(FILE *f, const Ctl *c, const HistoryFigureInfo *info, const double *values,
                size_t n) {
        static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
        static const char ascii[] = "_.-~=+*#";
        double low = values[0], high = values[0];
        size_t columns = MIN(n, (size_t) COLUMNS);

        for (size_t i = 0; i < n; i++) {
                low = MIN(low, values[i]);
                high = MAX(high, values[i]);
        }
        fprintf(f, "%-8s ", info->name);
        for (size_t i = 0; i < columns; i++) {
                double v = mean(values, i * n / columns, (i + 1) * n / columns);
                /* Half of the height is the value's own, so that noise looks like noise. */
                double floor_ = MIN(low, high * 0.5), span = high - floor_;
                size_t level = span > 0 ? (size_t) ((v - floor_) / span * 7.999) : 7;

                level = MIN(level, (size_t) 7);
                if (c->utf8)
                        fputs(bars[level], f);
                else
                        fputc(ascii[level], f);
        }
        fprintf(f, "  %.5g … %.5g%s%s, last %.5g (%zu)\n", low, high, info->unit[0] ? " " : "",
                        info->unit, values[n - 1], n);
}

char *history_lines(const Ctl *c, const HistoryEntry *entries, size_t n) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        for (size_t i = 0; i < _HISTORY_FIGURES; i++) {
                size_t count;
                _cleanup_free_ double *values = values_of(entries, n, (HistoryFigure) i, &count);

                if (values && count > 0)
                        print_line(f, c, &history_figure_info[i], values, count);
        }
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

/* before: the entry before it; NULL: there is none. */
static void print_entry(const HistoryEntry *e, const HistoryEntry *before) {
        char when[32] = "?", back[FORMAT_DURATION_MAX];
        time_t t = (time_t) e->time;
        struct tm tm;

        if (gmtime_r(&t, &tm))
                strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%SZ", &tm);
        printf("%s  %-7s  %-8s  %s%s%s%s", when, e->kind, e->verdict, e->code,
                        e->code[0] && e->text[0] ? ": " : "", e->text,
                        e->slow ? " (slower than usual)" : "");
        if (before && e->time < before->time)
                printf(" (the clock was set back before this, by %s at least)",
                                format_duration(back,
                                                (uint64_t) before->time * USEC_PER_SEC -
                                                                (uint64_t) e->time * USEC_PER_SEC));
        putchar('\n');
}

static int print_json(const HistoryEntry *l, size_t n) {
        _cleanup_json_ json_object *list = json_object_new_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; i < n && r >= 0; i++)
                r = json_append(list, history_to_json(&l[i]));
        if (r >= 0)
                json_print(list, 0);
        return r;
}

static int load(HistoryEntry **ret, size_t *ret_n) {
        size_t damaged;
        int r = history_load(ret, ret_n, &damaged);

        if (r < 0)
                return log_error_errno(r, "%s cannot be read", PATH_HISTORY);
        if (damaged > 0)
                log_warning("%s: %zu of its %d places are damaged, and what was in them is left out; new entries take such places by and by",
                                PATH_HISTORY, damaged, HISTORY_SLOTS);
        return 0;
}

int verb_history(Ctl *c, int argc, char *argv[]) {
        _cleanup_free_ HistoryEntry *l = NULL;
        _cleanup_free_ char *lines = NULL;
        size_t n;

        (void) argv;
        if (argc > 0)
                return EXIT_USAGE;
        if (load(&l, &n) < 0)
                return EXIT_FAILURE;
        if (c->json)
                return print_json(l, n) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;

        for (size_t i = 0; i < n; i++)
                print_entry(&l[i], i > 0 ? &l[i - 1] : NULL);
        lines = history_lines(c, l, n);
        if (!lines)
                return EXIT_FAILURE;
        printf("%s%s", lines[0] ? "\n" : "", n > 0 ? lines : "There is no history yet.\n");
        return EXIT_SUCCESS;
}

int plot_history(Ctl *c) {
        _cleanup_free_ HistoryEntry *l = NULL;
        _cleanup_free_ char *text = NULL;
        size_t n;

        if (load(&l, &n) < 0)
                return EXIT_FAILURE;
        text = isatty(STDOUT_FILENO) ? history_lines(c, l, n) : history_svg(l, n);
        if (!text)
                return EXIT_FAILURE;
        fputs(text, stdout);
        return EXIT_SUCCESS; /* what cannot be written, main() tells */
}
