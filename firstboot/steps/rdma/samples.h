/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Samples of metrics, gathered one by one and printed in Prometheus' text format 0.0.4, where all
 * samples of a metric stand together. */

#include "shared/macro.h"

typedef struct Metric {
        char *name, *help;
        const char *type;
        size_t rank; /* of its name among all */
} Metric;

typedef struct Sample {
        size_t metric;
        const char *labels;
        char value[24];
} Sample;

typedef struct Samples {
        Metric *metrics;
        size_t n_metrics;
        Sample *items;
        size_t n, room;
        char **labels; /* owned here, for many samples share them */
} Samples;

void samples_done(Samples *s);

/* type is a literal; name and help are taken over, on failure too. Two metrics may have one name;
 * then the first one's help counts. 0 or -ENOMEM, also where a string is NULL. */
int samples_add_metric(Samples *s, const char *type, char *name, char *help, size_t *ret);

/* Keeps labels as long as the samples; takes them over, on failure too. NULL on out of memory. */
const char *samples_keep(Samples *s, char *labels);

/* labels: kept. 0 or -ENOMEM. */
int samples_add(Samples *s, size_t metric, const char *labels, const char *value);

/* By metric, in the order they came, and the tail as it is. The caller frees the text; NULL on out
 * of memory. */
char *samples_print(Samples *s, const char *tail);

/* A metric name of prefix and a file's name: what a name must not have becomes '_'. The caller
 * frees it. */
char *rdma_metric_name(const char *prefix, const char *file);

/* A label's value with \, " and newline escaped, and '?' for bytes that are no UTF-8; the caller
 * frees it. */
char *rdma_label_value(const char *text);
