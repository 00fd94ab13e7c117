/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How those who judge (check.c, roce.c) add what they find to a verdict. */

#include "steps/rdma/check.h"

typedef enum RdmaWeight {
        RDMA_LASTS,
        RDMA_MAY_PASS, /* another look may show something better */
        RDMA_WARNS,    /* a defect, no failure */
} RdmaWeight;

/* Of a device (NULL: of the machine), and of a port. Both take value and limit over; NULL of them
 * is out of memory. 0 or -ENOMEM. */
int rdma_find(RdmaVerdict *v, const char *device, const char *code, RdmaWeight weight, char *value,
                char *limit);
int rdma_find_port(RdmaVerdict *v, const RdmaPort *p, const char *code, RdmaWeight weight,
                char *value, char *limit);
