/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Anybody's disk image, read without changing or running anything of it.
 *
 *   image_format_log(path, &format);                   what the file is
 *   guestfs_open_readonly(images, formats, &g);        an appliance over it: appliance/appliance.h
 *   inspect_image(g, path, format, &inspection);       what is in it, as JSON: docs/inspect.md
 *   file_list_read(g, true, tell, userdata, &files);   its files
 *   diff_sides(a, b, &difference);                     two of them side by side: diff.h */

#include "appliance/appliance.h"
#include "inspect/byte-tree.h"
#include "inspect/diff.h"
#include "inspect/vulnerabilities.h"
#include "inspect/partitions.h"
#include "shared/json-util.h"

/* Everything about the only image of g (/dev/sda). Parts that cannot be read are named in
 * "problems"; an image without an operating system is no error. Afterwards its root file systems
 * are mounted read-only as the guest has them, at /. Errors are logged. */
int inspect_image(guestfs_h *g, const char *path, const char *format, json_object **ret);
