/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is in a disk image, anybody's: one JSON object, which inspect prints and diff compares.
 * docs/inspect.md describes its keys. */

#include "inspect/appliance.h"
#include "shared/json-util.h"
#include "shared/strv.h"

/* Everything about the only image of g (/dev/sda). Parts that cannot be read are named in
 * "problems"; an image without an operating system is no error. Afterwards its root file systems
 * are mounted read-only as the guest has them, at /. Errors are logged. */
int inspect_image(guestfs_h *g, const char *path, const char *format, json_object **ret);

/* What the rooms of it add to `o`; the OS of `root` is mounted. */
int inspect_packages(guestfs_h *g, const char *root, json_object *o);
int inspect_software(guestfs_h *g, json_object *o);
int inspect_kernels(guestfs_h *g, json_object *o);
int inspect_disks(guestfs_h *g, json_object *o);

/* The packages of a dpkg status file: installed ones only, as [{name, version, arch, size}],
 * sorted by name. */
int inspect_parse_dpkg(FILE *f, json_object *packages);

/* The digits of a library's file name: "libnccl.so.2.21.5" gives "2.21.5", "libcudart.so" NULL.
 * Points into it. */
const char *inspect_library_version(const char *path);

/* A file of the guest as a readable descriptor of ours, kept in memory. -EIO where libguestfs
 * cannot read it. */
int inspect_open_file(guestfs_h *g, const char *path, int *ret_fd);

/* A list of libguestfs as ours; takes l. NULL for NULL. */
char **inspect_take_list(char **l);

int inspect_problem(json_object *o, const char *what, const char *why);

/* "1.2 GiB" for people. */
void inspect_format_size(uint64_t bytes, char *ret, size_t size);
