/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Element types and reductions: names and sizes. */

#include "shared/macro.h"
#include "ncclbench/pattern.h"

#define TYPE_SIZE_MAX 8 /* bytes of an element */

typedef struct TypeInfo {
        const char *name;  /* as nccl-tests prints it */
        unsigned size;     /* bytes */
        unsigned min_nccl; /* NCCL version code that brought the type, 0: always there */
} TypeInfo;

#define TYPE_COUNT 12
#define OP_COUNT 5

extern const TypeInfo type_table[TYPE_COUNT];    /* indexed by TYPE_… */
extern const char *const op_names[OP_COUNT + 1]; /* indexed by OP_…; the last is "none" */

/* Accepts the names of the table and the usual others (bf16, float32, fp16 …); -EINVAL. */
int type_from_name(const char *name, int *ret_type);
int op_from_name(const char *name, int *ret_op);
