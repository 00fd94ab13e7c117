/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is wrong with an option that getopt_long() refused, with what was probably meant. */

#include "shared/macro.h"

#include <getopt.h>

/* After getopt_long() has returned '?' with opterr 0: logs it. `options` ends with a zeroed row. */
void log_bad_option(char *const argv[], const struct option *options);
