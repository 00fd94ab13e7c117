/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Name, version and architecture of a .deb, from its own control file. */

#include "shared/macro.h"

typedef struct DebControl {
        char *name, *version, *arch;
} DebControl;

/* -EBADMSG for what is no .deb, or one that could be read in two ways; other errnos are the
 * disk's. */
int deb_control_read(const char *path, DebControl *ret);
/* The control file itself, its fields without empty lines around them; refused where
 * deb_control_read() refuses. Caller frees. */
int deb_control_text(const char *path, char **ret);
void deb_control_done(DebControl *c);
#define _cleanup_deb_control_ _cleanup_(deb_control_done)
