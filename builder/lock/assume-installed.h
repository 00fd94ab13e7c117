/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Packages that others depend on and a build can do without (compile[].without): apt and dpkg take
 * them for installed, so that neither they nor what they depend on are fetched. */

#include "shared/strv.h"
#include <stdio.h>

/* A stanza of dpkg's status file, with an empty line behind it. Its version is newer than any, for
 * dependencies ask for one that is new enough; one that wants an exact version is not met. */
void assumed_print(FILE *f, const char *name, const char *arch);

/* Adds to the dpkg database below `root` (a tree's absolute path) those of `names` that it does
 * not have. Negative errno. */
int assumed_add(const char *root, char *const *names, const char *arch);
