/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Ports tried one after the other: what comes of all of them, and when to stop. */

#include "shared/macro.h"

typedef struct RdmaTally {
        unsigned failures;
        int result; /* of the first port that failed; 0: none did */
} RdmaTally;

/* Takes what came of a port, and says whether the next one is tried: not after two failures, which
 * may have taken their whole limit each, and not where the step ends anyway. */
bool rdma_tally(RdmaTally *t, int r);
