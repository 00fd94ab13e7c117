/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A number that is this node's and no other's, for what nodes should not do at the same time. It is
 * no identity for anything else. FIRSTBOOT_NODE_SEED (for tests) replaces it. */

#include "shared/macro.h"

/* The same at every boot. Machine id, firmware's UUID and serial, and the network cards' addresses
 * all count, for an image that was captured from a node gives its machine id to many. */
uint64_t node_seed(void);
