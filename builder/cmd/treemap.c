/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Row by row along the shorter side of what is left: a row takes one more as long as that makes
 * its worst rectangle no longer. */

#include "cmd/treemap.h"

/* The worst ratio of sides in a row of that area along `side`, by its largest and smallest. */
static double worst(double row, double side, double largest, double smallest) {
        double a = side * side * largest / (row * row), b = row * row / (side * side * smallest);

        return MAX(a, b);
}

/* Lays out a row along the shorter side of *left, which loses that much. */
static void place(
                const uint64_t *sizes, size_t n, double scale, double row, Area *left, Area *ret) {
        bool upright = left->width >= left->height; /* the row is a column at the left */
        double side = upright ? left->height : left->width, deep = row / side,
               at = upright ? left->y : left->x;

        for (size_t i = 0; i < n; i++) {
                double length = (double) sizes[i] * scale / deep;

                ret[i] = upright ? (Area) { left->x, at, deep, length }
                                 : (Area) { at, left->y, length, deep };
                at += length;
        }
        if (upright) {
                left->x += deep;
                left->width = MAX(left->width - deep, 0);
        } else {
                left->y += deep;
                left->height = MAX(left->height - deep, 0);
        }
}

/* How many of the sizes the next row takes; *ret_row: its area. */
static size_t take_row(
                const uint64_t *sizes, size_t n, double scale, double side, double *ret_row) {
        double largest = (double) sizes[0] * scale, row = largest;
        size_t k = 1;

        for (; k < n; k++) {
                double next = (double) sizes[k] * scale;

                if (worst(row + next, side, largest, next) >
                                worst(row, side, largest, (double) sizes[k - 1] * scale))
                        break;
                row += next;
        }
        *ret_row = row;
        return k;
}

void treemap_divide(const uint64_t *sizes, size_t n, uint64_t total, Area whole, Area *ret) {
        double scale = total > 0 ? whole.width * whole.height / (double) total : 0;

        for (size_t i = 0, k; i < n; i += k) {
                double row, side = MIN(whole.width, whole.height);

                if (side <= 0 || scale <= 0) { /* what rounding leaves of nothing */
                        ret[i] = (Area) { whole.x, whole.y, 0, 0 };
                        k = 1;
                        continue;
                }
                k = take_row(sizes + i, n - i, scale, side, &row);
                place(sizes + i, k, scale, row, &whole, ret + i);
        }
}
