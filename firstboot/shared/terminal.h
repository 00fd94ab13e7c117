/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Terminals, for both programs. */

#include "shared/macro.h"

/* Whether `fd` is a terminal that knows escape sequences: TERM is set and not "dumb". */
bool terminal_is_capable(int fd);
