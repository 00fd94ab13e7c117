/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Counters of all RDMA devices as Prometheus' text format 0.0.4: every file in counters and
 * hw_counters of each port and in hw_counters of each device, whatever the driver calls it. */

#include "shared/macro.h"

/* Returns 1 with the text (the caller frees it), 0 where there is no RDMA device, negative
 * errno. */
int rdma_metrics(char **ret);
