/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Samples of metrics, gathered one by one and printed in Prometheus' text format 0.0.4, where all samples of a metric
 * stand together. */

#include "shared/macro.h"

typedef struct Sample {
        char *metric, *help, *labels, *value;
        const char *type;
        size_t order; /* as read: devices and ports in their order */
} Sample;

typedef struct Samples {
        Sample *items;
        size_t n, room;
} Samples;

void samples_done(Samples *s);

/* type is a literal; all strings are taken over, on failure too. 0 or -ENOMEM, also where one of them is NULL. */
int samples_add(Samples *s, const char *type, char *metric, char *help, char *labels, char *value);

/* By metric, in the order they came. The caller frees the text; NULL on out of memory. */
char *samples_print(Samples *s);

/* A metric name of prefix and a file's name: what a name must not have becomes '_'. The caller
 * frees it. */
char *rdma_metric_name(const char *prefix, const char *file);

/* A label's value with \, " and newline escaped, and '?' for bytes that are no UTF-8; the caller
 * frees it. */
char *rdma_label_value(const char *text);
