/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The data that every rank sends and the value that every element must have afterwards.
 *
 * Both follow from (seed, rank, index) alone, so a GPU checks every element of its result without
 * anybody sending it an expected buffer. Three rules make the check sharp:
 *  - what is only moved (all_gather, broadcast …) carries all bits of a hash of rank and index, so
 *    a swapped, missing or shifted piece differs nearly everywhere;
 *  - what is reduced is chosen so that the exact result fits the type whatever order NCCL adds in:
 *    integers wrap, floats get small integers (powers of two for prod) whose every partial result
 *    is exact. The comparison is therefore of bits, without a tolerance. The one exception is the
 *    average of floats over a number of ranks that is no power of two, where 1/n itself is rounded;
 *  - every rank contributes to some elements however many ranks there are.
 *
 * This file is compiled into the GPU kernels (kernels.cu), into the double of CUDA in the tests and
 * into the unit tests, so it uses nothing but arithmetic. */

#include <stdint.h>

#ifdef __CUDA__
#define PATTERN_FUNCTION static inline __attribute__((device))
#elif defined(__CUDACC__)
#define PATTERN_FUNCTION static __forceinline__ __device__
#else
#define PATTERN_FUNCTION static inline
#endif

/* The numbers are NCCL's own: ncclDataType_t and ncclRedOp_t. */
enum {
        TYPE_INT8 = 0,
        TYPE_UINT8 = 1,
        TYPE_INT32 = 2,
        TYPE_UINT32 = 3,
        TYPE_INT64 = 4,
        TYPE_UINT64 = 5,
        TYPE_HALF = 6,
        TYPE_FLOAT = 7,
        TYPE_DOUBLE = 8,
        TYPE_BFLOAT16 = 9,
        TYPE_F8E4M3 = 10,
        TYPE_F8E5M2 = 11,
};
enum { OP_SUM = 0, OP_PROD = 1, OP_MAX = 2, OP_MIN = 3, OP_AVG = 4, OP_NONE = 5 };

/* One fill or one check of one buffer. Element e belongs to index index_base + e of the data of
 * rank `rank` (fill, moved data), or of all ranks 0 … ranks-1 (reduced data). Where chunk is not 0,
 * the buffer is a row of chunks and chunk c holds indexes from index_base on of rank rank + c. */
typedef struct PatternJob {
        uint64_t count;
        uint64_t chunk;
        uint64_t index_base;
        uint64_t limit; /* pattern_prepare(): bound of one rank's value */
        uint32_t type;
        uint32_t op;
        uint32_t ranks;
        uint32_t rank;
        uint32_t seed;
        uint32_t stride;  /* pattern_prepare(): one rank in so many has a value that counts */
        uint32_t reduced; /* check against the reduction over all ranks */
        uint32_t inexact; /* pattern_prepare(): average of floats with a rounded 1/n */
        double tolerance; /* pattern_prepare(): relative, of the mean magnitude; where inexact */
} PatternJob;

PATTERN_FUNCTION uint32_t pattern_hash(uint32_t seed, uint32_t rank, uint64_t index) {
        uint32_t h = (uint32_t) index * 0x9e3779b1u ^ (uint32_t) (index >> 32) * 0x7feb352du;

        h += rank * 0xc2b2ae35u + seed * 0x45d9f3bu + 0x68bc21ebu;
        h ^= h >> 15;
        h *= 0x2c1b3c6du;
        h ^= h >> 12;
        h *= 0x297a2d39u;
        return h ^ h >> 15;
}

PATTERN_FUNCTION uint64_t pattern_hash64(uint32_t seed, uint32_t rank, uint64_t index) {
        return (uint64_t) pattern_hash(seed ^ 0x5bd1e995u, rank, index) << 32 |
               pattern_hash(seed, rank, index);
}

PATTERN_FUNCTION uint32_t pattern_size(uint32_t type) {
        switch (type) {
        case TYPE_INT8:
        case TYPE_UINT8:
        case TYPE_F8E4M3:
        case TYPE_F8E5M2:
                return 1;
        case TYPE_HALF:
        case TYPE_BFLOAT16:
                return 2;
        case TYPE_INT64:
        case TYPE_UINT64:
        case TYPE_DOUBLE:
                return 8;
        default:
                return 4;
        }
}

PATTERN_FUNCTION int pattern_is_float(uint32_t type) {
        return type >= TYPE_HALF;
}

PATTERN_FUNCTION int pattern_is_signed_int(uint32_t type) {
        return type == TYPE_INT8 || type == TYPE_INT32 || type == TYPE_INT64;
}

PATTERN_FUNCTION uint64_t pattern_load(const void *data, uint32_t size, uint64_t e) {
        switch (size) {
        case 1:
                return ((const uint8_t *) data)[e];
        case 2:
                return ((const uint16_t *) data)[e];
        case 4:
                return ((const uint32_t *) data)[e];
        default:
                return ((const uint64_t *) data)[e];
        }
}

PATTERN_FUNCTION void pattern_store(void *data, uint32_t size, uint64_t e, uint64_t bits) {
        switch (size) {
        case 1:
                ((uint8_t *) data)[e] = (uint8_t) bits;
                break;
        case 2:
                ((uint16_t *) data)[e] = (uint16_t) bits;
                break;
        case 4:
                ((uint32_t *) data)[e] = (uint32_t) bits;
                break;
        default:
                ((uint64_t *) data)[e] = bits;
        }
}

/* Significant bits (the hidden one counted) and exponent bits of a float type. */
PATTERN_FUNCTION void pattern_layout(uint32_t type, int *significant, int *exponent) {
        *significant = type == TYPE_HALF       ? 11
                       : type == TYPE_BFLOAT16 ? 8
                       : type == TYPE_F8E4M3   ? 4
                       : type == TYPE_F8E5M2   ? 3
                       : type == TYPE_FLOAT    ? 24
                                               : 53;
        *exponent = type == TYPE_HALF || type == TYPE_F8E5M2 ? 5
                    : type == TYPE_F8E4M3                    ? 4
                    : type == TYPE_DOUBLE                    ? 11
                                                             : 8;
}

/* The bits of `value` in a float type that can hold it exactly; excess bits are cut off. */
PATTERN_FUNCTION uint64_t pattern_encode(uint32_t type, double value) {
        union {
                double d;
                uint64_t u;
        } raw;
        int significant, exponent, e;
        uint64_t mantissa, sign;

        raw.d = value;
        if (type == TYPE_DOUBLE)
                return raw.u;
        pattern_layout(type, &significant, &exponent);
        sign = raw.u >> 63 << (exponent + significant - 1);
        if (raw.u << 1 == 0)
                return sign;
        e = (int) (raw.u >> 52 & 0x7ff) - 1023 + (1 << (exponent - 1)) - 1;
        mantissa = raw.u & 0xfffffffffffffull;
        if (e > 0)
                return sign | (uint64_t) e << (significant - 1) | mantissa >> (53 - significant);
        if (e < -significant) /* below the smallest subnormal */
                return sign;
        return sign | (mantissa | 1ull << 52) >> (53 - significant + 1 - e);
}

/* The value of a float's bits; not a number and infinities come out as a huge number. */
PATTERN_FUNCTION double pattern_decode(uint32_t type, uint64_t bits) {
        union {
                double d;
                uint64_t u;
        } raw;
        int significant, exponent;
        uint64_t mantissa, e, sign;
        double scale;

        raw.u = bits;
        if (type != TYPE_DOUBLE) {
                pattern_layout(type, &significant, &exponent);
                sign = bits >> (exponent + significant - 1) << 63;
                mantissa = bits & ((1ull << (significant - 1)) - 1);
                e = bits >> (significant - 1) & ((1ull << exponent) - 1);
                if (e == 0) { /* subnormal: mantissa times the smallest step */
                        raw.u = (uint64_t) (1023 - (1 << (exponent - 1)) + 2 - (significant - 1))
                                << 52;
                        scale = raw.d * (double) mantissa;
                        return sign ? -scale : scale;
                }
                /* f8e4m3 has no infinity: its highest exponent is an ordinary one but for NaN. */
                if (e == (1ull << exponent) - 1 && (type != TYPE_F8E4M3 || mantissa == 7))
                        return 1e300;
                raw.u = sign | (e + 1023 - (1u << (exponent - 1)) + 1) << 52 |
                        mantissa << (53 - significant);
        } else if ((bits >> 52 & 0x7ff) == 0x7ff)
                return 1e300;
        return raw.d;
}

/* Whether a rank's value at an index may differ from the neutral one (0 for sums, ±1 for
 * products). */
PATTERN_FUNCTION int pattern_takes_part(const PatternJob *job, uint32_t rank, uint64_t index) {
        return job->stride <= 1 ||
               (rank + pattern_hash(job->seed, 0xffffffffu, index)) % job->stride == 0;
}

/* A rank's value for a reduction of floats: a small integer, for prod ±1 or ±2. */
PATTERN_FUNCTION int64_t pattern_small(const PatternJob *job, uint32_t rank, uint64_t index) {
        uint32_t h = pattern_hash(job->seed, rank, index);

        if (job->op == OP_PROD) {
                int64_t v = h & 1 && pattern_takes_part(job, rank, index) ? 2 : 1;
                return h & 2 ? -v : v;
        }
        if (!pattern_takes_part(job, rank, index))
                return 0;
        return (int64_t) ((uint64_t) h * (2 * job->limit + 1) >> 32) - (int64_t) job->limit;
}

/* The bits that `rank` sends at `index`. */
PATTERN_FUNCTION uint64_t pattern_value(const PatternJob *job, uint32_t rank, uint64_t index) {
        uint64_t h;

        if (job->op != OP_NONE && pattern_is_float(job->type))
                return pattern_encode(job->type, (double) pattern_small(job, rank, index));

        h = pattern_size(job->type) == 8 ? pattern_hash64(job->seed, rank, index)
                                         : pattern_hash(job->seed, rank, index);
        if (job->op == OP_PROD)
                return h | 1; /* even factors would soon make every product 0 */
        if (job->op == OP_AVG) {
                if (!pattern_takes_part(job, rank, index))
                        return 0;
                return job->limit == UINT64_MAX ? h : h % (job->limit + 1);
        }
        return h;
}

/* Sign extends (signed types) or cuts (the others) the low bits of an integer type. */
PATTERN_FUNCTION uint64_t pattern_narrow(uint32_t type, uint64_t v) {
        switch (type) {
        case TYPE_INT8:
                return (uint64_t) (int64_t) (int8_t) v;
        case TYPE_UINT8:
                return (uint8_t) v;
        case TYPE_INT32:
                return (uint64_t) (int64_t) (int32_t) v;
        case TYPE_UINT32:
                return (uint32_t) v;
        default:
                return v;
        }
}

PATTERN_FUNCTION uint64_t pattern_reduce_ints(const PatternJob *job, uint64_t index) {
        uint64_t result = pattern_narrow(job->type, pattern_value(job, 0, index));

        for (uint32_t r = 1; r < job->ranks; r++) {
                uint64_t v = pattern_narrow(job->type, pattern_value(job, r, index));
                int less = pattern_is_signed_int(job->type) ? (int64_t) v < (int64_t) result
                                                            : v < result;

                switch (job->op) {
                case OP_PROD:
                        result *= v;
                        break;
                case OP_MAX:
                        result = less ? result : v;
                        break;
                case OP_MIN:
                        result = less ? v : result;
                        break;
                default:
                        result += v;
                }
        }
        /* All values are positive and their sum fits: see pattern_prepare(). */
        if (job->op == OP_AVG)
                result /= job->ranks;
        return result;
}

/* The reduction over all ranks; *ret_magnitude is the mean of the absolute values. */
PATTERN_FUNCTION double pattern_reduce_floats(
                const PatternJob *job, uint64_t index, double *ret_magnitude) {
        int64_t first = pattern_small(job, 0, index), result = first,
                magnitude = first < 0 ? -first : first;

        for (uint32_t r = 1; r < job->ranks; r++) {
                int64_t v = pattern_small(job, r, index);

                magnitude += v < 0 ? -v : v;
                switch (job->op) {
                case OP_PROD:
                        result *= v;
                        break;
                case OP_MAX:
                        result = v > result ? v : result;
                        break;
                case OP_MIN:
                        result = v < result ? v : result;
                        break;
                default:
                        result += v;
                }
        }
        *ret_magnitude = (double) magnitude / job->ranks;
        return job->op == OP_AVG ? (double) result / job->ranks : (double) result;
}

PATTERN_FUNCTION void pattern_locate(
                const PatternJob *job, uint64_t e, uint32_t *ret_rank, uint64_t *ret_index) {
        uint64_t c = job->chunk ? e / job->chunk : 0;

        *ret_rank = job->rank + (uint32_t) c;
        *ret_index = job->index_base + (job->chunk ? e - c * job->chunk : e);
}

PATTERN_FUNCTION void pattern_fill(const PatternJob *job, void *data, uint64_t e) {
        uint32_t rank;
        uint64_t index;

        pattern_locate(job, e, &rank, &index);
        pattern_store(data, pattern_size(job->type), e, pattern_value(job, rank, index));
}

/* The bits that element e must have; of an inexact job the nearest below: see pattern_matches(). */
PATTERN_FUNCTION uint64_t pattern_expected(const PatternJob *job, uint64_t e) {
        uint32_t rank;
        uint64_t index;
        double magnitude;

        pattern_locate(job, e, &rank, &index);
        if (!job->reduced)
                return pattern_value(job, rank, index);
        if (pattern_is_float(job->type))
                return pattern_encode(job->type, pattern_reduce_floats(job, index, &magnitude));
        return pattern_reduce_ints(job, index);
}

PATTERN_FUNCTION int pattern_matches(const PatternJob *job, const void *data, uint64_t e) {
        uint32_t size = pattern_size(job->type);
        uint64_t got = pattern_load(data, size, e), want,
                 mask = size == 8 ? UINT64_MAX : (1ull << 8 * size) - 1;
        uint64_t negative_zero = 1ull << (8 * size - 1);

        if (job->inexact) {
                uint32_t rank;
                uint64_t index;
                double magnitude, target, difference;

                pattern_locate(job, e, &rank, &index);
                target = pattern_reduce_floats(job, index, &magnitude);
                difference = pattern_decode(job->type, got) - target;
                return (difference < 0 ? -difference : difference) <= job->tolerance * magnitude;
        }
        want = pattern_expected(job, e) & mask;
        if (got == want)
                return 1;
        /* A sum of -1 and 1 may be either zero, as the order of the addition has it. */
        return job->reduced && pattern_is_float(job->type) &&
               (got | negative_zero) == (want | negative_zero) && (want & ~negative_zero) == 0;
}
