/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Running programs by name, for when systemd cannot be asked. */

#include "shared/macro.h"

/* Whether there is a process of root's of that name, as the kernel has it: cut to 15 characters. */
bool process_exists(const char *name);
