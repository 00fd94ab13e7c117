/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* RDMA over Ethernet (RoCE): what is asked of the verdict's ports together. */

#include "steps/rdma/check.h"

bool rdma_port_is_ethernet(const RdmaPort *p);

/* Add their findings to v; check_gids sets v->gid_index. 0 or -ENOMEM. */
int rdma_check_mtu(RdmaVerdict *v, const RdmaWish *w);
int rdma_check_gids(RdmaVerdict *v, const RdmaWish *w);
