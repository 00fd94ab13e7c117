/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Small programs in front of PATH while packages are installed: nothing is started, and what every
 * package would do again (initramfs, module lists, byte code, certificates, the manual's index)
 * waits until it is done once: at the end of the stage for those that shims_later() names, in
 * stage initramfs for the others. */

#include "store/store.h"

#define SHIMS_INSIDE "/run/imgbuild/shims"
#define SHIMS_LATER_INSIDE \
        "/run/imgbuild/later" /* where they note what was asked for: writable, empty */

/* Writes them to a new scratch folder. */
int shims_write(Store *s, char **ret_folder);

/* The commands that installed packages asked for, from what the shims left in folder `later`. */
typedef struct Later {
        char **argv;
        bool optional; /* whatever it could not do, the packages work without */
} Later;
int shims_later(const char *later, unsigned jobs, Later **ret, size_t *ret_n);
void later_free(Later *l, size_t n);
