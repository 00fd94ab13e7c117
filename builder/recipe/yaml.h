/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* YAML 1.1 as cloud-init reads it (PyYAML's safe loader); libyaml does the parsing. */

#include "shared/json-util.h"

/* The first document of the text, NULL where it is empty. Returns 0; -EINVAL with *ret_error filled
 * for bad text (and for what no configuration needs: keys that are no scalars, nesting deeper than
 * 64, aliases that grow beyond 100,000 values); -ENOMEM. The caller puts *ret. */
int yaml_parse(const char *text, size_t size, JsonError *ret_error, json_object **ret);
