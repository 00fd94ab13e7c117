/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The bus bandwidth that two nodes must reach, whatever the others of the job do: the agent's nccl
 * step leaves it where it knows the machine's shape. */

#include "shared/macro.h"

#define PAIRS_LIMITS "/run/firstboot/pairs.json"

typedef struct PairsLimit {
        uint64_t bytes; /* size of the operation that it holds for; 0: no limit is known */
        double busbw;   /* GB/s */
        char shape[64];
} PairsLimit;

/* Reads {"shape": …, "bytes": …, "min_busbw": …}. 0; -EINVAL with *ret_error a text for people (the
 * caller frees it); another negative errno where the file cannot be read. */
int pairs_limit_read(const char *path, PairsLimit *ret, char **ret_error);

/* What a pair of nodes must reach at this size: the lower of their limits, 0 where neither has
 * one. */
double pairs_limit_of(const PairsLimit *a, const PairsLimit *b, size_t bytes);
