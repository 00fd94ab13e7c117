/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Counters of all RDMA devices as Prometheus' text format 0.0.4: every file in counters and
 * hw_counters of each port and in hw_counters of each device, whatever the driver calls it. */

#include "shared/macro.h"

/* Returns 1 with the text (the caller frees it), 0 where there is no RDMA device, negative
 * errno. */
int rdma_metrics(char **ret);

/* A metric name of prefix and a file's name: what a name must not have becomes '_'. The caller
 * frees it. */
char *rdma_metric_name(const char *prefix, const char *file);

/* A label's value with \, " and newline escaped, and '?' for bytes that are no UTF-8; the caller
 * frees it. */
char *rdma_label_value(const char *text);
