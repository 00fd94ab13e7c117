/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the parts of the disk room share: disk.c calls them in order. */

#include "disk/layout.h"
#include "store/digest.h"

typedef struct Disk {
        Context *ctx;
        const Plan *plan;
        Tools *tools;
        char **layers;    /* the image's trees and, on top, what only the disk knows: fstab and
                             grub.cfg */
        char *work;       /* scratch: /work in the tools' sandbox */
        char *folder;     /* of the raw disk: /disk in the tools' sandbox */
        const char *path; /* of the raw disk */
        char *file;       /* the same as the tools see it */
        Layout layout;
        TreeSize tree;
        DiskInfo info;
} Disk;

/* Runs a tool with /work and /disk and, where tree is not NULL, that folder read-only at /tree. A
 * full disk is told apart: -ENOSPC. Everything is logged. */
int disk_tool(const Disk *d, const char *tree, const SpawnOptions *options, char *const argv[]);

/* Calls fn in a child that sees the image's merged tree at `root`. */
int disk_with_tree(const Disk *d, int (*fn)(const char *root, void *userdata), void *userdata);

int disk_write_root(Disk *d); /* disk-root.c */
int disk_write_xfs(Disk *d);  /* disk-xfs.c */
int disk_write_esp(Disk *d);  /* disk-esp.c */
int disk_write_bios(Disk *d); /* disk-bios.c */

/* Makes GRUB's core image of a format ("x86_64-efi", "i386-pc") in the work folder. */
int grub_make_core(Disk *d, const char *format, const char *output);

/* SHA-256 of the bytes, as digest_file() gives it. */
int digest_bytes(const void *data, size_t size, Digest ret);

/* The folder that a file is in or is to be in, as the sandbox can bind it; NULL with errno set. */
char *absolute_folder(const char *path);

/* -ENOSPC, and a message, when the file system of `folder` has less than `bytes` free. */
int require_space(const char *folder, uint64_t bytes, const char *what);
