/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Times as people read them: "20 s" (exactly), "12.3 s", "2 min 5 s", "3 h 4 min", "2 d 3 h";
 * returns `text`. */

#include "shared/macro.h"

#define FORMAT_DURATION_MAX 32
char *format_duration(char text[FORMAT_DURATION_MAX], uint64_t usec);

/* The same, but below a minute in milliseconds: "12.345 s". */
char *format_duration_finely(char text[FORMAT_DURATION_MAX], uint64_t usec);
