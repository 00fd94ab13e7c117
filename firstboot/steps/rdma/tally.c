/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The first port that fails is the verdict; the second is tried because it tells a fault of one
 * port from one of the node. */

#include "steps/rdma/tally.h"

#define FAILURES_MAX 2

bool rdma_tally(RdmaTally *t, int r) {
        if (r == -ENOMEM || r == -ECANCELED) {
                t->result = r;
                return false;
        }
        if (r < 0 && t->result == 0)
                t->result = r;
        t->failures += r < 0;
        return t->failures < FAILURES_MAX;
}
