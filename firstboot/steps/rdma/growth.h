/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Errors that come while a port carries data. */

#include "steps/rdma/facts.h"

/* The first error counter of a port that is higher after it carried data than before, as
 * "counters/symbol_error grew from 1 to 2"; NULL: none, or out of memory. The caller frees it. */
char *rdma_growth(const RdmaPort *before, const RdmaPort *after);
