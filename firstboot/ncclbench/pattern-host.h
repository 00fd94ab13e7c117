/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The host's part of the data pattern: what pattern.h, which GPUs run, needs to be told. */

#include "ncclbench/types.h"

/* Fills in what the pattern needs to know for job->type, op and ranks (already set). Returns -EDOM
 * where no data could prove the result: the average of 8-bit integers over more ranks than the
 * type can add up. */
int pattern_prepare(PatternJob *job);

/* An element's bits for people: "-3.5", "17". */
void pattern_print(unsigned type, uint64_t bits, char *text, size_t size);
