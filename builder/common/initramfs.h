/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is in an initramfs: cpio archives one after the other, with zeros between, of which the last
 * may be compressed (Linux, Documentation/driver-api/early-userspace/buffer-format.rst). */

#include "shared/macro.h"

/* Calls fn with the path of each entry, of some more than once, without "./" or "/" before it; fn
 * returns 0, or a negative errno, which is returned. -EBADMSG: it is none, or ends before its end;
 * -EOPNOTSUPP: compressed in a way that is not read here (lzop). */
int initramfs_visit(const void *data, size_t size, int (*fn)(const char *path, void *userdata),
                void *userdata);
