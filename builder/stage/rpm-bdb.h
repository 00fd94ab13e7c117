/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* rpm's database of EL 8: files of Berkeley DB, which have in them what two machines that do the
 * same do not have in common. */

#include "shared/macro.h"

#include <stddef.h>

/* Settles these bytes of one such file in place: padding that the library leaves as it was on its
 * stack, and the identity that it makes by chance, which becomes one of `name`'s. Anything else
 * than a file of a kind that is known stays what it is. Returns whether it is known. */
bool rpm_bdb_settle(void *data, size_t size, const char *name);

/* The same for all files of the tree's, or layer's, /var/lib/rpm. */
int rpm_bdb_settle_all(int root_fd);
