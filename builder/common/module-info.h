/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a kernel module says of itself (modinfo), read from the file, compressed or not, without a
 * running kernel. */

#include "shared/macro.h"

typedef struct ModuleInfo {
        char *name, *version, *vermagic; /* NULL where the module does not say */
} ModuleInfo;

/* Reads fd to the end of its .modinfo section: .ko, .ko.xz, .ko.zst, .ko.gz. -EBADMSG: not a
 * kernel module or damaged; -ENOMEM; other -errno. Needs 256 KiB of memory whatever the module's
 * size. */
int module_info_read(int fd, ModuleInfo *ret);
void module_info_done(ModuleInfo *m);
