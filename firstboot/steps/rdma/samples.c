/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counters written for Prometheus, by its "Exposition formats". All samples of a metric stand
 * together below its HELP and TYPE, so they are gathered first and sorted. */

#include "steps/rdma/samples.h"
#include "shared/strv.h"

#include <ctype.h>

void samples_done(Samples *s) {
        for (size_t i = 0; i < s->n_metrics; i++) {
                free(s->metrics[i].name);
                free(s->metrics[i].help);
        }
        free(s->metrics);
        free(s->items);
        strv_free(s->labels);
        *s = (Samples) {};
}

char *rdma_metric_name(const char *prefix, const char *file) {
        char *name = strf("%s%s", prefix, file);

        for (char *p = name; p && *p; p++)
                if (!isascii((unsigned char) *p) || (!isalnum((unsigned char) *p) && *p != '_'))
                        *p = '_';
        return name;
}

/* Bytes of the UTF-8 character that s begins with; 0 where it begins with none. */
static size_t utf8_length(const char *s) {
        unsigned char c = (unsigned char) *s;
        size_t n = c < 0x80                ? 1
                   : c >= 0xc2 && c < 0xe0 ? 2
                   : c >= 0xe0 && c < 0xf0 ? 3
                   : c >= 0xf0 && c < 0xf5 ? 4
                                           : 0;

        for (size_t i = 1; i < n; i++)
                if (((unsigned char) s[i] & 0xc0) != 0x80)
                        return 0;
        return n;
}

char *rdma_label_value(const char *text) {
        char *value = malloc(strlen(text) * 2 + 1), *out = value;

        if (!value)
                return NULL;
        while (*text) {
                size_t n = utf8_length(text);

                if (*text == '\\' || *text == '"' || *text == '\n')
                        *out++ = '\\';
                *out++ = n == 0 ? '?' : *text == '\n' ? 'n' : *text;
                for (size_t i = 1; i < n; i++)
                        *out++ = text[i];
                text += n > 0 ? n : 1;
        }
        *out = '\0';
        return value;
}

int samples_add_metric(Samples *s, const char *type, char *name, char *help, size_t *ret) {
        Metric *grown = reallocarray(s->metrics, s->n_metrics + 1, sizeof(Metric));

        if (grown)
                s->metrics = grown;
        if (!grown || !name || !help) {
                free(name);
                free(help);
                return -ENOMEM;
        }
        s->metrics[s->n_metrics] = (Metric) { .name = name, .help = help, .type = type };
        *ret = s->n_metrics++;
        return 0;
}

const char *samples_keep(Samples *s, char *labels) {
        return labels && strv_push(&s->labels, labels) >= 0 ? labels : NULL;
}

int samples_add(Samples *s, size_t metric, const char *labels, const char *value) {
        if (s->n == s->room) {
                size_t room = s->room ? s->room * 2 : 256;
                Sample *grown = reallocarray(s->items, room, sizeof(Sample));

                if (!grown)
                        return -ENOMEM;
                s->items = grown;
                s->room = room;
        }
        Sample *x = &s->items[s->n++];
        size_t n = strnlen(value, sizeof(x->value) - 1);

        x->metric = metric;
        x->labels = labels;
        memcpy(x->value, value, n);
        x->value[n] = '\0';
        return 0;
}

static int by_name(const void *a, const void *b) {
        const Metric *const *x = a, *const *y = b;

        return strcmp((*x)->name, (*y)->name);
}

/* Names are compared once, and not for each pair of thousands of samples. */
static int rank_metrics(Samples *s) {
        _cleanup_free_ Metric **sorted = calloc(s->n_metrics + 1, sizeof(Metric *));

        if (!sorted)
                return -ENOMEM;
        for (size_t i = 0; i < s->n_metrics; i++)
                sorted[i] = &s->metrics[i];
        qsort(sorted, s->n_metrics, sizeof(Metric *), by_name);
        for (size_t i = 1; i < s->n_metrics; i++)
                sorted[i]->rank =
                                sorted[i - 1]->rank + !streq(sorted[i]->name, sorted[i - 1]->name);
        return 0;
}

/* By metric, and by none twice: it is counted how many come before each, so thousands of samples
 * are not compared. */
static const Sample **sort_samples(const Samples *s) {
        _cleanup_free_ size_t *next = calloc(s->n_metrics + 1, sizeof(size_t));
        const Sample **sorted = calloc(s->n + 1, sizeof(Sample *));

        if (!next || !sorted) {
                free(sorted);
                return NULL;
        }
        for (size_t i = 0; i < s->n; i++)
                next[s->metrics[s->items[i].metric].rank + 1]++;
        for (size_t i = 1; i < s->n_metrics; i++)
                next[i] += next[i - 1];
        for (size_t i = 0; i < s->n; i++)
                sorted[next[s->metrics[s->items[i].metric].rank]++] = &s->items[i];
        return sorted;
}

/* Bytes of the text at most. */
static size_t text_size(const Samples *s, const char *tail) {
        size_t size = strlen(tail) + 1;

        for (size_t i = 0; i < s->n_metrics; i++) {
                const Metric *m = &s->metrics[i];

                size += strlen("# HELP  \n# TYPE  \n") + 2 * strlen(m->name) + strlen(m->help) +
                        strlen(m->type);
        }
        for (size_t i = 0; i < s->n; i++) {
                const Sample *x = &s->items[i];

                size += strlen(s->metrics[x->metric].name) + strlen(x->labels) + strlen(x->value) +
                        strlen("{} \n");
        }
        return size;
}

static char *append(char *to, const char *a, const char *b, const char *c) {
        return stpcpy(stpcpy(stpcpy(to, a), b), c);
}

char *samples_print(Samples *s, const char *tail) {
        _cleanup_free_ const Sample **sorted = NULL;
        size_t last = SIZE_MAX;
        char *text, *to;

        if (rank_metrics(s) < 0 || !(sorted = sort_samples(s)) ||
                        !(text = malloc(text_size(s, tail))))
                return NULL;
        to = text;
        for (size_t i = 0; i < s->n; i++) {
                const Sample *x = sorted[i];
                const Metric *m = &s->metrics[x->metric];

                if (m->rank != last) {
                        to = append(append(to, "# HELP ", m->name, " "), m->help, "\n# TYPE ",
                                        m->name);
                        to = append(to, " ", m->type, "\n");
                }
                last = m->rank;
                to = append(append(to, m->name, "{", x->labels), "} ", x->value, "\n");
        }
        stpcpy(to, tail);
        return text;
}
