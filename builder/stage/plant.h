/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A whole file system, or one layer of an overlay, out of a tar archive, entry for entry. */

#include "shared/macro.h"

/* What has come so far; may be memory that another process looks at. */
typedef struct Planted {
        uint64_t bytes;      /* of files' data */
        uint64_t whiteouts;  /* left out: a layer of an overlay cannot have them as its own */
        uint64_t attributes; /* extended ones that this user may not set: labels, trusted.* */
} Planted;

/* Reads a tar archive (pax) from fd to its end, and makes what it holds in `folder`, which is
 * empty: owners, modes, extended attributes (ACLs, labels, capabilities), hard links, holes, device
 * nodes and times as the archive has them. Sockets are left out.
 *
 * The archive is a stranger's word: no entry leads out of the folder, through a link of its own or
 * over what is there already: -EBADMSG, as is a bomb, of which more than 256 MiB and more than 200
 * times `packed` bytes come out. -EPIPE: it ends too early, or is no archive. -EPERM: a device
 * node, and this user may make none. *ret_why (the caller frees it) says what is wrong; NULL on out
 * of memory.
 *
 * Changes umask and locale: call it in a child. */
int plant_tree(int fd, const char *folder, uint64_t packed, Planted *planted, char **ret_why);

/* Where a layer goes, and what it may have. */
typedef struct LayerRoom {
        const char *folder; /* empty */
        uint64_t packed;    /* bytes of the archive */
        bool userxattr;     /* opaque folders are marked for an ordinary user's overlayfs */
        bool devices;       /* a vendor's image has device nodes; no stage's script can make one */
} LayerRoom;

/* The same of a layer's archive (stage/pack.h), which may be compressed: its whiteouts and opaque
 * folders are made. Overlayfs' other attributes, by which a layer shows other files than its own,
 * and device nodes where there may be none, are refused: -EBADMSG. */
int plant_layer(int fd, const LayerRoom *room, Planted *planted, char **ret_why);
