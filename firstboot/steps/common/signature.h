/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What libblkid finds on a device or an image file, read-only. */

#include "shared/macro.h"

typedef struct Signature {
        char type[32];  /* "ext4", "LVM2_member", "gpt" … */
        char usage[48]; /* "filesystem", "raid", "crypto", "other", "partition table" */
        char label[64];
        bool remains; /* of something damaged: found by remains.h, not by libblkid */
} Signature;

#define SIGNATURES_MAX 16

/* All signatures on the device, damaged ones included. Returns how many (at most SIGNATURES_MAX),
 * or negative errno where the device could not be read: then nothing is known about it. */
int probe_device(const char *path, Signature ret[SIGNATURES_MAX]);

/* The same on an open device, from byte `offset` to its end. */
int probe_fd(int fd, uint64_t offset, Signature ret[SIGNATURES_MAX]);

/* Whether the device holds a file system with this label. */
bool probe_has_label(const char *path, const char *label);

/* The bytes that the file system on the device says it spans, the last incomplete block left out;
 * 0 where that is not known (libblkid tells it for ext and XFS since 2.39). */
uint64_t probe_filesystem_bytes(const char *path);
