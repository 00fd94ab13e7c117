/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What dpkg is told to leave out, left out where something else unpacks. */

#include "shared/macro.h"

/* A hook of mmdebstrap's, which is given the tree: it gives dpkg there these options
 * ("--path-exclude=/x") and removes what they leave out. mmdebstrap unpacks the essential packages
 * twice, first with tar; told of the options itself, it would pass each package through a filter of
 * its own, which takes longer than the unpacking. dpkg, which comes second, makes what it keeps.
 * *ret is NULL where there are no options; caller frees. 0 or -ENOMEM. */
int prune_script(char *const *options, char **ret);
