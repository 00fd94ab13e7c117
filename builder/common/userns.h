/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shared/macro.h"

/* As an ordinary user: re-executes this program as root of a user namespace with the caller's
 * subordinate ids (newuidmap, newgidmap). Does nothing for root. Returns only on failure, logged
 * with the remedy, or when nothing was to do. */
int userns_enter(int argc, char *argv[]);
bool in_user_namespace(void);
