/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which machine this is, as its firmware says: the same for whatever image it runs. */

#include "shared/macro.h"

/* An identity that may stand in an LVM tag; NULL in *ret where the firmware knows none. 0 or
 * -ENOMEM; the caller frees it. */
int machine_identity(char **ret);
