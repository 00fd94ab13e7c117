/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Text constants of a program or library: the strings in a section of an ELF file. */

#include "shared/macro.h"

/* Calls fn for each printable string of at least `min` bytes in the ELF section `section` of an
 * uncompressed file, until it returns non-zero. Returns that, 0, -ENOENT where there is no such
 * section, -EBADMSG for no ELF file. */
int elf_section_strings(int fd, const char *section, size_t min,
                int (*fn)(const char *s, void *userdata), void *userdata);
