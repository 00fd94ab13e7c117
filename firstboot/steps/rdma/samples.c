/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counters written for Prometheus, by its "Exposition formats". All samples of a metric stand together below its HELP
 * and TYPE, so they are gathered first and sorted. */

#include "steps/rdma/samples.h"
#include "shared/strv.h"

#include <ctype.h>

static void sample_done(Sample *s) {
        free(s->metric);
        free(s->help);
        free(s->labels);
        free(s->value);
        *s = (Sample) {};
}

void samples_done(Samples *s) {
        for (size_t i = 0; i < s->n; i++)
                sample_done(&s->items[i]);
        free(s->items);
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

int samples_add(Samples *s, const char *type, char *metric, char *help, char *labels, char *value) {
        Sample sample = { metric, help, labels, value, type, s->n };

        if (s->n == s->room) {
                size_t room = s->room ? s->room * 2 : 256;
                Sample *grown = reallocarray(s->items, room, sizeof(Sample));

                if (!grown) {
                        sample_done(&sample);
                        return -ENOMEM;
                }
                s->items = grown;
                s->room = room;
        }
        if (!metric || !help || !labels || !value) {
                sample_done(&sample);
                return -ENOMEM;
        }
        s->items[s->n++] = sample;
        return 0;
}

static int by_metric(const void *a, const void *b) {
        const Sample *x = a, *y = b;
        int r = strcmp(x->metric, y->metric);

        return r != 0 ? r : x->order < y->order ? -1 : x->order > y->order;
}

char *samples_print(Samples *s) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        if (s->n > 0)
                qsort(s->items, s->n, sizeof(Sample), by_metric);
        for (size_t i = 0; i < s->n; i++) {
                const Sample *x = &s->items[i];

                if (i == 0 || !streq(x->metric, s->items[i - 1].metric))
                        fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", x->metric, x->help, x->metric,
                                        x->type);
                fprintf(f, "%s{%s} %s\n", x->metric, x->labels, x->value);
        }
        if (ferror(f) | fclose(f)) {
                free(text);
                return NULL;
        }
        return text;
}
