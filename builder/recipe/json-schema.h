/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the checks of strings are in JSON Schema; the schemas themselves are in recipe.h. */

#include "contract/json-schema.h"
#include "recipe/schema.h"

/* NULL where `check` has no pattern. */
const StringPattern *schema_pattern_find(schema_check_t check);
