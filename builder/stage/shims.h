/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Small programs in front of PATH while packages are installed: nothing is started, and what every
 * package would do again (initramfs, module lists, byte code, certificates, the manual's index)
 * waits until it is done once: at the end of the stage for those that shims_later() names, in
 * stage initramfs for the others. */

#include "store/store.h"

#define SHIMS_INSIDE "/run/imgbuild/shims"

/* Where they note what was asked for: writable, empty. */
#define SHIMS_LATER_INSIDE "/run/imgbuild/later"

/* Writes them to a new scratch folder. */
int shims_write(Store *s, char **ret_folder);

/* The commands that installed packages asked for. */
typedef struct Later {
        char **argv;
        bool optional; /* whatever it could not do, the packages work without */
} Later;

typedef struct LaterList {
        Later *commands;
        size_t n;
} LaterList;

/* Reads what the shims noted in the host's folder `later`. */
int shims_later(const char *later, unsigned jobs, LaterList *ret);
void later_list_done(LaterList *l);
