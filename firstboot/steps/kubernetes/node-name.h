/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The name of the Node object. */

#include "shared/json-util.h"

/* kubernetes.node_name, or as kubeadm has it the host name in lower case. 0; -EINVAL where it is no
 * name for a node; other negative errno. The caller frees it. */
int kubernetes_node_name(json_object *section, char **ret);
