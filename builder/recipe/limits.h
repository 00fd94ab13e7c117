/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* "limits" in recipes and overlays. */

#include "sandbox/limits.h"
#include "shared/json-util.h"

/* Patterns, as those of recipe/patterns.h. */
const char *value_time_limit(const char *s);
const char *value_memory_limit(const char *s);

/* Of a section that has been validated; NULL: none. */
Limits limits_from_json(json_object *section);
