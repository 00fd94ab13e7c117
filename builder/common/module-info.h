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

/* Calls fn for each printable string of at least `min` bytes in the ELF section `section` of an
 * uncompressed file, until it returns non-zero. Returns that, 0, -ENOENT where there is no such
 * section, -EBADMSG for no ELF file. */
int elf_section_strings(int fd, const char *section, size_t min,
                int (*fn)(const char *s, void *userdata), void *userdata);
