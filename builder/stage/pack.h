/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A layer as one file that plant_layer() makes a layer of again, on another host. */

#include "store/digest.h"

/* Writes the tree of a layer to fd: a tar archive (pax), compressed by zstd. Of one layer it is the
 * same bytes on every host that has the same libraries: names in order; whiteouts and opaque
 * folders as root's overlayfs has them, without its other attributes; labels of security modules
 * only where `labels` (a vendor's image has its own, a host's are nobody else's). `threads`
 * compress. Returns 0; -ENOTSUP: there is a socket, which no archive has; -ECANCELED after a
 * Ctrl-C; another negative errno. */
int pack_layer(const char *tree, bool labels, unsigned threads, int fd);
