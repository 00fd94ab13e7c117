/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* rpm writes into its database when a package was installed; from 4.18 on it takes
 * SOURCE_DATE_EPOCH for that. Older ones, those of EL 8 and 9, ask time(), which is this library's
 * where they are started with it in LD_PRELOAD. */

#include "shared/macro.h"

#include <stddef.h>

#define RPM_CLOCK "rpm-clock.so"

/* The library's file; borrowed. */
const void *rpm_clock(size_t *ret_size);
