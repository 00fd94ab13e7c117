/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A treemap: areas in proportion to sizes, as close to squares as they go ("Squarified Treemaps",
 * Bruls, Huizing, van Wijk, 2000). Geometry alone. */

#include "shared/macro.h"

typedef struct Area {
        double x, y, width, height;
} Area;

/* Divides `whole` among n sizes, the largest first, none 0, whose sum is `total`. */
void treemap_divide(const uint64_t *sizes, size_t n, uint64_t total, Area whole, Area *ret);
