/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Attributes in sysfs and procfs, below the test root: small files of one value. Needs the C
 * library alone. */

#include "shared/macro.h"

/* The file's text without the blanks around it (NVMe pads its strings with them); NULL where it
 * cannot be read. The caller frees it. */
char *sysfs_string(const char *folder, const char *name);

/* The file's number, decimal or (base 16) hexadecimal. 0; -EINVAL where it holds none; another
 * -errno where it cannot be read. */
int sysfs_number(const char *folder, const char *name, unsigned base, uint64_t *ret);
