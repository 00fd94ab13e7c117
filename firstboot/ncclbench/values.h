/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Numbers as people write them on the command line. All return 0 or -EINVAL, and leave *ret
 * untouched on failure. */

#include "shared/macro.h"

/* "8", "64K", "1.5G", "1GB", "1GiB": powers of 1024; -ERANGE from 2⁶² on.
 *
 * Not shared/size.h's: nccl-tests, whose options these are, reads fractions ("1.5G"), and what its
 * users have in their scripts must mean the same here. */
int parse_fractional_size(const char *text, size_t *ret);

int parse_in_range(const char *text, unsigned long min, unsigned long max, unsigned long *ret);
int parse_real(const char *text, double min, double max, double *ret);
