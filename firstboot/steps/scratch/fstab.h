/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Lines of /etc/fstab for the scratch volume. */

#include "shared/macro.h"

/* Gives the line for a mount point the option nofail, where it has it not: a boot after which the
 * local disks are blank would end in emergency mode. 1 where a line was changed, 0, or negative
 * errno. */
int fstab_let_fail(const char *where);
