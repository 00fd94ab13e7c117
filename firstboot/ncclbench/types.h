/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Element types and reductions: names, sizes, and the data pattern that proves them. */

#include "shared/macro.h"
#include "ncclbench/pattern.h"

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

/* Fills in what the pattern needs to know for job->type, op and ranks (already set). Returns -EDOM
 * where no data could prove the result: the average of 8-bit integers over more ranks than the
 * type can add up. */
int pattern_prepare(PatternJob *job);

/* An element's bits for people: "-3.5", "17". */
void pattern_print(unsigned type, uint64_t bits, char *text, size_t size);
