/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the firmware says of the machine (DMI), where it says something. */

#include "shared/macro.h"

/* A field of /sys/class/dmi/id ("product_uuid") in lower case; *ret is NULL where there is none, or
 * only what vendors leave in one that they do not fill. 0 or -ENOMEM; the caller frees it. */
int dmi_read(const char *field, char **ret);
