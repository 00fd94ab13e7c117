/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* kubeadm's configuration for joining. */

#include "shared/json-util.h"

/* A JoinConfiguration, JSON (which is YAML), for the kubeadm of this version ("v1.28.9"): its
 * format has changed twice. NULL on out of memory; the caller frees and wipes it. */
char *join_configuration(
                json_object *section, const char *node, const char *token, const char *version);
