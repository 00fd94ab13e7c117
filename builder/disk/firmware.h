/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which firmware a disk boots by. */

#include "stage/stage.h"

/* Whether the partition table at the file's beginning, which may be all of the disk that there is,
 * names an EFI system partition: GPT or MBR. Without any table, no. -EUCLEAN: there is no GPT where
 * the MBR says that there is one. Nothing is logged. */
int table_has_esp(int fd);

/* The same of an image in a format of qemu-img's (`driver`): true, it boots by UEFI, perhaps by
 * BIOS too; false, by BIOS alone. What is read of it lies in `folder` meanwhile. Errors are
 * logged. */
int disk_wants_uefi(Tools *tools, const char *source, const char *driver, const char *folder);
