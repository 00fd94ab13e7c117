/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sizes as people write and read them. Units are binary throughout: 1 K is 1024 bytes. */

#include "shared/macro.h"

/* "4096", "64K", "512M", "8G", "1T", also with "B" or "iB" behind the unit ("8GiB"), to bytes.
 * Small letters will do. -EINVAL where it is no size, -ERANGE beyond 64 bits. */
int parse_bytes(const char *text, uint64_t *ret_bytes);

/* "512 B", "1.5 KiB", "12.0 GiB"; returns `text`. */
#define FORMAT_BYTES_MAX 16
char *format_bytes(char text[FORMAT_BYTES_MAX], uint64_t bytes);
