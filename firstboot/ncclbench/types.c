/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names of element types and reductions. */

#include "ncclbench/types.h"

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
