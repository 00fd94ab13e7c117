/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Numbers in text that others wrote: sysfs, logs, other programs. Unlike strtoul() these take no
 * sign, no blank before the number and nothing that does not fit. On failure nothing is changed. */

#include "shared/macro.h"

/* A text that is one number of this base (8, 10 or 16; 16 with or without "0x") and nothing else.
 * 0; -EINVAL where it is none; -ERANGE beyond 64 bits. */
int parse_number(const char *text, unsigned base, uint64_t *ret);

/* The number that *text begins with; *text is then behind it. Errors as above. */
int parse_digits(const char **text, unsigned base, uint64_t *ret);

/* As parse_digits(), and the character `end` that must follow; *text is then behind that. -EINVAL
 * where another one follows. */
int parse_digits_until(const char **text, unsigned base, char end, uint64_t *ret);

/* The decimal number that a text such as "16.0 GT/s PCIe" begins with; text may be NULL. 0, or
 * -EINVAL where it begins with no digit. */
int parse_leading_real(const char *text, double *ret);
