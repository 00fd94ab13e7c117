/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files without a name yet. */

/* A new file in `folder`, mode 0600, locked as long as the returned descriptor is open. Those that
 * killed writers left there are removed. *ret_path: to be renamed or unlinked. Negative errno. */
int draft_begin(const char *folder, char **ret_path);

/* Removes what killed writers left in the folder. */
void draft_sweep(const char *folder);
