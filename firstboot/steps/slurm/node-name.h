/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The name by which Slurm knows the node. */

#include "shared/json-util.h"

/* slurm.node_name, or the host name up to its first dot. 0; -EINVAL where that is no one node's
 * name: "all" is every node to Slurm, and a host may be called so. Other negative errno. The caller
 * frees it. */
int slurm_node_name(json_object *section, char **ret);
