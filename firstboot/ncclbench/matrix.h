/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The matrices of the load: small integers from a hash, in 16-bit floats, so that every product of
 * two matrices is exact in 32-bit floats in whatever order it is added up, and its rows' sums can
 * be known without multiplying anything: the sum of row i of A × B is the sum over k of A[i][k]
 * times the sum of row k of B.
 *
 * Compiled into the GPU kernels and into the double of CUDA, as pattern.h, which comes before
 * it. */

/* A is 1, B is 2. */
PATTERN_FUNCTION int32_t matrix_value(
                uint32_t seed, uint32_t which, uint32_t row, uint32_t column) {
        uint32_t h = pattern_hash(seed, which, (uint64_t) row << 32 | column);

        return (int32_t) ((uint64_t) h * 5 >> 32) - 2; /* -2 … 2 */
}

/* The bits of a value of ours as a 16-bit float: ±1 is 0x3c00, ±2 is 0x4000. */
PATTERN_FUNCTION uint16_t matrix_half(int32_t value) {
        uint32_t size = value < 0 ? (uint32_t) -value : (uint32_t) value;

        return (uint16_t) ((value < 0 ? 0x8000u : 0u) |
                           (size == 0 ? 0u : 0x3c00u + (size - 1) * 0x400u));
}
