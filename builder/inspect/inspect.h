/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Anybody's disk image, read without changing or running anything of it.
 *
 *   image_format_log(path, &format);                   what the file is
 *   guestfs_open_readonly(images, formats, &g);        an appliance over it: appliance.h
 *   inspect_image(g, path, format, &inspection);       what is in it, as JSON: docs/inspect.md
 *   file_list_read(g, true, tell, userdata, &files);   its files
 *   diff_sides(a, b, &difference);                     two of them side by side: diff.h */

#include "inspect/appliance.h"
#include "inspect/diff.h"
#include "inspect/partitions.h"
#include "shared/json-util.h"

/* What an image is by its first bytes: "qcow2", "vmdk", "vdi", "vhdx", "vpc" (VHD), "raw" where
 * there is a partition table or a file system that a disk may begin with; -EMEDIUMTYPE for anything
 * else, -ENODATA for an empty file, -EISDIR. *ret is a constant. */
int image_format(const char *path, const char **ret);
int image_format_log(const char *path, const char **ret); /* the same, errors logged */

/* Everything about the only image of g (/dev/sda). Parts that cannot be read are named in
 * "problems"; an image without an operating system is no error. Afterwards its root file systems
 * are mounted read-only as the guest has them, at /. Errors are logged. */
int inspect_image(guestfs_h *g, const char *path, const char *format, json_object **ret);
