/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/types.h"

#include <inttypes.h>
#include <strings.h>

const TypeInfo type_table[TYPE_COUNT] = {
        [TYPE_INT8] = { "int8", 1, 0 },
        [TYPE_UINT8] = { "uint8", 1, 0 },
        [TYPE_INT32] = { "int32", 4, 0 },
        [TYPE_UINT32] = { "uint32", 4, 0 },
        [TYPE_INT64] = { "int64", 8, 0 },
        [TYPE_UINT64] = { "uint64", 8, 0 },
        [TYPE_HALF] = { "half", 2, 0 },
        [TYPE_FLOAT] = { "float", 4, 0 },
        [TYPE_DOUBLE] = { "double", 8, 0 },
        [TYPE_BFLOAT16] = { "bfloat16", 2, 0 },
        [TYPE_F8E4M3] = { "f8e4m3", 1, 22400 },
        [TYPE_F8E5M2] = { "f8e5m2", 1, 22400 },
};

const char *const op_names[OP_COUNT + 1] = {
        [OP_SUM] = "sum",
        [OP_PROD] = "prod",
        [OP_MAX] = "max",
        [OP_MIN] = "min",
        [OP_AVG] = "avg",
        [OP_NONE] = "none",
};

static const struct {
        const char *alias;
        int type;
} aliases[] = {
        { "char", TYPE_INT8 },
        { "int", TYPE_INT32 },
        { "float16", TYPE_HALF },
        { "fp16", TYPE_HALF },
        { "float32", TYPE_FLOAT },
        { "fp32", TYPE_FLOAT },
        { "float64", TYPE_DOUBLE },
        { "fp64", TYPE_DOUBLE },
        { "bf16", TYPE_BFLOAT16 },
        { "fp8_e4m3", TYPE_F8E4M3 },
        { "float8e4m3", TYPE_F8E4M3 },
        { "fp8_e5m2", TYPE_F8E5M2 },
        { "float8e5m2", TYPE_F8E5M2 },
};

int type_from_name(const char *name, int *ret_type) {
        for (int t = 0; t < TYPE_COUNT; t++)
                if (strcasecmp(name, type_table[t].name) == 0) {
                        *ret_type = t;
                        return 0;
                }
        for (size_t i = 0; i < ELEMENTSOF(aliases); i++)
                if (strcasecmp(name, aliases[i].alias) == 0) {
                        *ret_type = aliases[i].type;
                        return 0;
                }
        return -EINVAL;
}

int op_from_name(const char *name, int *ret_op) {
        for (int op = 0; op < OP_COUNT; op++)
                if (strcasecmp(name, op_names[op]) == 0) {
                        *ret_op = op;
                        return 0;
                }
        return -EINVAL;
}

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

int pattern_prepare(PatternJob *job) {
        bool power_of_two = (job->ranks & (job->ranks - 1)) == 0;
        int significant, exponent;

        job->limit = 0;
        job->stride = 1;
        job->inexact = 0;
        job->tolerance = 0;
        if (job->op == OP_NONE)
                return 0;

        if (!pattern_is_float(job->type)) {
                if (job->op == OP_AVG) {
                        /* With fewer than one per rank to give away, every average would be 0. */
                        if (job->ranks > largest_sum(job->type))
                                return -EDOM;
                        share(largest_sum(job->type), job->ranks, &job->limit, &job->stride);
                }
                return 0;
        }

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
        if (job->op == OP_AVG && (!power_of_two || job->ranks > 512)) {
                /* NCCL multiplies each rank's value by 1/n, rounded to the type, and adds: one
                 * rounding for 1/n, one for the product, up to n-1 for the sum; each at most half
                 * a unit in the last place. 512 is what the smallest type's subnormals take
                 * exactly. */
                pattern_layout(job->type, &significant, &exponent);
                job->inexact = 1;
                job->tolerance = (double) (job->ranks + 3) / (double) (UINT64_C(1) << significant);
        }
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
