/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The workbench: a disk while it is made, and what its makers share. disk.c calls them in order. */

#include "disk/disk.h"
#include "disk/layout.h"

/* What the tree's SELinux needs of its disk. */
typedef enum Labels {
        LABELS_NONE,   /* there is no policy, or it is off */
        LABELS_NOW,    /* labels.c gives them */
        LABELS_AT_BOOT /* the tree or its file system do not let us: the first boot does */
} Labels;

typedef struct Disk {
        Context *ctx;
        const Plan *plan;
        Tools *tools;
        char **layers;    /* the image's trees; on top what only the disk knows: fstab, grub.cfg */
        char *work;       /* scratch: /work in the tools' sandbox */
        char *folder;     /* of the raw disk: /disk in the tools' sandbox */
        const char *path; /* of the raw disk */
        char *file;       /* the same as the tools see it */
        Layout layout;
        TreeSize tree;
        Labels labels;
        DiskInfo info;
} Disk;

/* workbench.c. Fills what is not given yet: layers, work, folder, file. Errors are logged. */
int disk_prepare(Disk *d, char *const *layers);
void disk_done(Disk *d);

/* Runs a tool with /work and /disk and, where tree is not NULL, that folder read-only at /tree. A
 * full disk is told apart: -ENOSPC. Everything is logged. */
int disk_tool(const Disk *d, const char *tree, const SpawnOptions *options, char *const argv[]);

/* Opens the raw disk, whatever the tools made of its name: -ELOOP, -EINVAL where it is no file. */
int disk_open(const Disk *d, int flags);

/* Calls fn in a child that sees the image's merged tree at `root`. */
int disk_with_tree(const Disk *d, int (*fn)(const char *root, void *userdata), void *userdata);

/* The folder that a file is in or is to be in, as the sandbox can bind it; NULL with errno set. */
char *absolute_folder(const char *path);

/* -ENOSPC, and a message, when the file system of `folder` has less than `bytes` free. */
int require_space(const char *folder, uint64_t bytes, const char *what);
#define SPACE_LOW (32 * MIB) /* less than this left after a failure: that was the reason */

/* folder-json.c. A regular file of `folder`, neither of them a link, of at most `max` bytes.
 * Negative errno; not logged. */
int folder_load_json(const char *folder, const char *name, size_t max, json_object **ret);

/* measure.c. Fills d->tree and d->labels, and sees that the tree has a kernel and an initramfs. */
int disk_measure(Disk *d);

/* The makers: root.c, xfs.c, esp.c, bios.c. All log their errors. */
int disk_write_root(Disk *d);
int disk_write_xfs(Disk *d);
int disk_write_esp(Disk *d);
int disk_write_bios(Disk *d);

/* labels.c. What the tree at `root` needs, as far as it is up to the tree; and a label for each
 * file of the written root, by the tree's own policy. */
Labels labels_needed(const char *root);
int disk_write_labels(Disk *d);

/* The parts of that: asks the policy for the paths in the work folder's LABELS_PATHS, each with a
 * NUL behind it; reads both lists (ret_contexts NULL: the paths alone); takes the next label off
 * the second: "" for none, NULL where it is none that a policy gives. */
#define LABELS_PATHS "label-paths"
int labels_ask(const Disk *d);
int labels_read(const Disk *d, char **ret_paths, size_t *ret_size, char **ret_contexts);
const char *labels_next(char **contexts);

/* grub.c. Makes GRUB's core image of a format ("x86_64-efi", "i386-pc") in the work folder. */
int grub_make_core(Disk *d, const char *format, const char *output);
