/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A running libguestfs appliance over disk images, read-only: what inspect, diff, the proof of a
 * finished disk and the import of a vendor's image share. */

#include "appliance/system.h"
#include "shared/macro.h"
#include <guestfs.h>

/* What an image is by its first bytes: "qcow2", "vmdk", "vdi", "vhdx", "vpc" (VHD), "raw" where
 * there is a partition table or a file system that a disk may begin with; -EMEDIUMTYPE for anything
 * else, -ENODATA for an empty file, -EISDIR. *ret is a constant. */
int image_format(const char *path, const char **ret);
int image_format_log(const char *path, const char **ret); /* the same, errors logged */

/* Starts an appliance with the images added read-only, as /dev/sda, /dev/sdb …. formats[i]
 * NULL, or formats NULL: as image_format() finds. KVM is used only where kvm_probe() trusts it.
 * Errors are logged, with what to do. -EMEDIUMTYPE: not an image; -ENOPKG: this host lacks
 * something for libguestfs. */
int guestfs_open_readonly(const char *const *images, const char *const *formats, guestfs_h **ret);

/* Opens one image so, and calls `use` with it; once more, with a new appliance, where the first
 * died under it. `use` logs its errors and begins anew when it is called again. */
typedef int (*ApplianceUse)(guestfs_h *g, void *userdata);
int guestfs_use_readonly(const char *image, const char *format, ApplianceUse use, void *userdata);

/* Starts an appliance over a raw disk that is to be written, and two raw files that are not, whole
 * sectors each, which its programs see by these names. Errors are logged. */
#define APPLIANCE_FIRST "/dev/disk/guestfs/first"
#define APPLIANCE_SECOND "/dev/disk/guestfs/second"
int guestfs_open_writable(const char *disk, const char *const beside[2], guestfs_h **ret);

/* Starts an appliance without an image, its files in `folder`, for those that come to be later.
 * `monitor`: a path for a socket, without a comma and short. -EAGAIN, not logged: it does not
 * start. */
int guestfs_open_bare(const char *folder, const char *monitor, guestfs_h **ret);

/* hot-plug.c. Gives it an image, read-only; *ret_device is what that is called there. Returns once
 * its `partitions` can be used. Errors are debug messages. */
int guestfs_plug(guestfs_h *g, const char *monitor, const char *image, const char *format,
                unsigned partitions, char **ret_device);

/* A file of the mounted system, or a link that leads to one. */
static inline bool guestfs_has_file(guestfs_h *g, const char *path) {
        return guestfs_is_file_opts(g, path, GUESTFS_IS_FILE_OPTS_FOLLOWSYMLINKS, 1, -1) > 0;
}

/* user.c. Before an ordinary user's program becomes root of a user namespace: makes the appliance
 * for it, some seconds the first time. Where that cannot be, launching says so. -ENOMEM. */
int appliance_prepare_for_user(void);

/* NULL: fine. Else why the appliance cannot work on this host; a cheap look at files,
 * nothing is started. */
char *guestfs_missing(void);

static inline void guestfs_closep(guestfs_h **g) {
        if (*g)
                guestfs_close(*g);
}
#define _cleanup_guestfs_ _cleanup_(guestfs_closep)
