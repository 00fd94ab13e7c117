/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The terminal of whoever called, joined to a machine's console. */

#include "shared/macro.h"

#define TERMINAL_WAY_OUT 0x1d /* Ctrl-] */

/* Until the way out is typed, or `in` ends: 1; until the other side ends: 0; -ECANCELED after a
 * signal; other -errno. `in` is a terminal that hands over each key meanwhile, Ctrl-C too, and is
 * then as it was. `fd` is a stream socket. `look` is called ten times a second. */
int terminal_join(int fd, int in, int out, void (*look)(void *userdata), void *userdata);
