/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The sum of IEEE 802.3, as zlib has it. It finds torn writes and tells things apart, and protects
 * from nobody. */

#include "shared/macro.h"

/* sum: that of what came before, 0 for nothing. */
uint32_t crc32_sum(uint32_t sum, const void *data, size_t n);
