/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Each usable port carries data before the node is ready, by the test programs of the image. */

#include "steps/common/step.h"
#include "steps/rdma/check.h"

/* 0, or the step's failure. What was carried is in the figures, "traffic". */
int rdma_traffic(StepContext *c, const RdmaFacts *facts, const RdmaVerdict *v);

/* The last line of ib_write_bw's --output=bandwidth that is a number, in 10⁹ bits a second; -1
 * where there is none. */
double rdma_traffic_bandwidth(const char *output);

/* Whether fi_pingpong's table says that all of the `rounds` were answered. */
bool rdma_traffic_answered(const char *output, unsigned rounds);
