/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A word for a shell. What we start ourselves is started from arrays of words; only a shell that
 * somebody else runs (in a guest, behind ssh; a completion script) gets a quoted word. */

#include "shared/macro.h"

/* 'word', with each quote in it as '\''. NULL on out of memory. */
char *shell_quote(const char *word);
