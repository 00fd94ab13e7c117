/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the node is made of, in versions: so that the one of a fleet that differs shows. */

#include "daemon/node.h"

/* {"id", "kernel", "image", "bios", "driver", "vbios", "nic", "nvme"}: what is not there is left
 * out, of many of a kind each version once with its number. "id" is a sum of all others. NULL on
 * out of memory. */
json_object *fingerprint_read(const Node *n);
