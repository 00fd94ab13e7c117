/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which data a type, a reduction and a number of ranks can bear, so that the result is exact. */

#include "ncclbench/pattern-host.h"

#include <inttypes.h>

/* Largest integer up to which every integer is exact in a float type (2^significant bits), but
 * never so large that a rank's value times two leaves 32 bits: pattern_small() draws from a 32-bit
 * hash. */
static uint64_t exact_integers(unsigned type) {
        int significant, exponent;

        pattern_layout(type, &significant, &exponent);
        return UINT64_C(1) << MIN(significant, 30);
}

/* Largest sum that an integer type holds; signed and unsigned alike within the positive numbers. */
static uint64_t largest_sum(unsigned type) {
        unsigned bits = 8 * type_table[type].size - (pattern_is_signed_int(type) ? 1 : 0);

        return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* What of the ranks' values may be large so that all of them together stay within `total`: each
 * value up to `limit`, or, for more ranks than that, one rank in `stride` a 1 at most. */
static void share(uint64_t total, unsigned ranks, uint64_t *ret_limit, uint32_t *ret_stride) {
        if (ranks <= total) {
                *ret_limit = total / ranks;
                *ret_stride = 1;
        } else {
                *ret_limit = 1;
                *ret_stride = (uint32_t) ((ranks + total - 1) / total);
        }
}

/* Integers wrap around, whatever order they are added in; only the average needs care. */
static int prepare_ints(PatternJob *job) {
        uint64_t total = largest_sum(job->type);

        if (job->op != OP_AVG)
                return 0;
        /* With fewer than one per rank to give away, every average would be 0. */
        if (job->ranks > total)
                return -EDOM;
        share(total, job->ranks, &job->limit, &job->stride);
        return 0;
}

static void prepare_floats(PatternJob *job) {
        switch (job->op) {
        case OP_PROD:
                /* At most six factors of two: 64 is exact and finite in every type. */
                share(6, job->ranks, &job->limit, &job->stride);
                break;
        case OP_MAX:
        case OP_MIN:
                job->limit = exact_integers(job->type);
                break;
        default:
                share(exact_integers(job->type), job->ranks, &job->limit, &job->stride);
        }
}

/* NCCL multiplies each rank's value by 1/n, rounded to the type, and adds: one rounding for 1/n,
 * one for the product, up to n-1 for the sum; each at most half a unit in the last place. 512 is
 * what the smallest type's subnormals take exactly. */
static void prepare_average(PatternJob *job) {
        bool power_of_two = (job->ranks & (job->ranks - 1)) == 0;
        int significant, exponent;

        if (power_of_two && job->ranks <= 512)
                return;
        pattern_layout(job->type, &significant, &exponent);
        job->inexact = 1;
        job->tolerance = (double) (job->ranks + 3) / (double) (UINT64_C(1) << significant);
}

int pattern_prepare(PatternJob *job) {
        job->limit = 0;
        job->stride = 1;
        job->inexact = 0;
        job->tolerance = 0;
        if (job->op == OP_NONE)
                return 0;
        if (!pattern_is_float(job->type))
                return prepare_ints(job);

        prepare_floats(job);
        if (job->op == OP_AVG)
                prepare_average(job);
        return 0;
}

void pattern_print(unsigned type, uint64_t bits, char *text, size_t size) {
        unsigned width = 8 * type_table[type].size;

        if (width < 64)
                bits &= (UINT64_C(1) << width) - 1;
        if (pattern_is_float(type))
                snprintf(text, size, "%.9g (0x%0*" PRIx64 ")", pattern_decode(type, bits),
                                (int) width / 4, bits);
        else if (pattern_is_signed_int(type))
                snprintf(text, size, "%" PRId64, (int64_t) pattern_narrow(type, bits));
        else
                snprintf(text, size, "%" PRIu64, bits);
}
