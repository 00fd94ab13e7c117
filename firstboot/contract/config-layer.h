/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One file of the node configuration (of conf.d, say), as firstbootd and firstbootctl read it. */

#include "shared/json-util.h"

/* Bytes: far more than any configuration needs; a file beyond it is a mistake. */
#define CONFIG_LAYER_MAX (1024 * 1024)

/* Reads the file of that name on the node. As json_load(); -EINVAL too for what is no regular file
 * (links are followed), which is not opened: a named pipe would be waited for. */
int config_layer_load(const char *name, JsonError *ret_error, json_object **ret);
