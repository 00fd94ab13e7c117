/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A program says what it is in an ELF note, so that an image tells the version of what it has
 * although nothing of it is run: the package metadata of https://systemd.io/ELF_PACKAGE_METADATA,
 * which systemd-coredump reads too. strip(1) leaves it alone. One PACKAGE_NOTE() in the file with
 * main(). */

#include <elf.h>

#define PACKAGE_NOTE(name, version)                                                             \
        PACKAGE_NOTE_TEXT("{\"type\":\"imgbuild\",\"name\":\"" name "\",\"version\":\"" version \
                          "\"}")
#define PACKAGE_NOTE_TEXT(text)                                                        \
        static const struct {                                                          \
                Elf32_Nhdr header;                                                     \
                char owner[4];                                                         \
                char json[(sizeof(text) + 3) / 4 * 4];                                 \
        } package_note __attribute__((used, aligned(4), section(".note.package"))) = { \
                { 4, (sizeof(text) + 3) / 4 * 4, 0xcafe1a7e }, "FDO", text             \
        }
