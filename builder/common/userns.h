/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* User namespaces: an ordinary user becomes root of an image, and of nothing of the host. */

#include "shared/macro.h"

/* As an ordinary user: re-executes this program as root of a user namespace with the caller's
 * subordinate ids (newuidmap, newgidmap). Does nothing for root. Returns only on failure, logged
 * with the remedy, or when nothing was to do. */
int userns_enter(int argc, char *argv[]);

/* Whether this process is in one, ours or anybody's. */
bool in_user_namespace(void);
