/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where the lock of the recipe `name` in `folder` (absolute) is, or is to be: beside it, or in a
 * folder of this user's own where that is not for him to write. NULL on out of memory. */
char *lock_place(const char *folder, const char *name);
