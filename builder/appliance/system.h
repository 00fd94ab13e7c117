/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A vendor's image as a base: whether it may be opened, what system is on it, and the tree of that.
 *
 *   image_require_whole(path, format);                    refuses what leads to other files
 *   image_facts(path, format, NULL, &facts);              for the lock
 *   tree_stream_start(path, format, NULL, scratch, fds[1], fds[0], &stream);   for the layer */

#include "shared/macro.h"

/* whole.c. Whether the image is all in this one file: -EPERM where its header names another (a
 * backing file, an extent, a file of data), which would be read from the host, or where it is
 * encrypted; -EBADMSG where qemu-img finds it damaged or cut off. Errors are logged. */
int image_require_whole(const char *path, const char *format);

/* raw.c. The image as a raw disk in the new file `raw`, by qemu-img: -ENOENT where there is none,
 * -EIO where it fails, and *ret_output (the caller frees it) says why. `pipe`: once nobody reads
 * that any more, -ECANCELED; negative: there is none. */
int image_to_raw(const char *image, const char *format, const char *raw, int pipe,
                char **ret_output);

/* system.c. What a lock says of the one operating system of an image. */
typedef struct ImageFacts {
        char *distro, *release; /* debian, trixie: as os-release says; of family el as recipes do */
        char *arch;             /* as libguestfs says: x86_64 */
        char *kernel;           /* release of the newest in /boot; NULL: none */
        bool el; /* of family el: what follows is rpm's, SQLite or Berkeley DB, else dpkg's */
        char *packages;       /* the database of these, whole; NULL: the system has none */
        size_t packages_size; /* bytes */
        int64_t newest;       /* newest time stamp of its files, seconds since 1970 */
} ImageFacts;
void image_facts_done(ImageFacts *f);
#define _cleanup_image_facts_ _cleanup_(image_facts_done)

/* Errors are logged. `root`: the device that it is on; NULL: there is one system only. -EINVAL for
 * an image that no system can be taken from. */
int image_facts(const char *path, const char *format, const char *root, ImageFacts *ret);

/* Finds the one system of the image in an appliance, on `root` where that is not NULL, and mounts
 * it as its fstab says, but for the ESP. *ret_root (the caller frees it): libguestfs' name of it.
 * Errors are logged, with `image`'s name. */
typedef struct guestfs_h guestfs_h;
int system_mount(guestfs_h *g, const char *image, const char *root, bool writable, char **ret_root);

/* stream.c. The tree of that system as a tar archive (pax) with all that it has: a process writes
 * it to `fd`, the one end of a pipe whose other end, `reader`, it does not keep. Errors are logged
 * by it. `scratch`: a folder with room for the image as a raw disk, where the system may be on ext4
 * and read without an appliance; NULL: it is not. */
typedef struct TreeStream TreeStream;
int tree_stream_start(const char *path, const char *format, const char *root, const char *scratch,
                int fd, int reader, TreeStream **ret);
int tree_stream_finish(TreeStream *s); /* waits until all was written: 0 or -EIO. Frees s */

/* Frees it, and ends what goes on after a moment: -EIO where it had failed by itself. */
int tree_stream_end(TreeStream *s);
