/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where everything lies on a disk, what it is called, and the texts that say so: pure arithmetic,
 * no file is touched. All identifiers are derived from the digest of the tree, so the same tree
 * gives the same disk. */

#include "recipe/recipe.h"
#include "store/digest.h"

#define MIB UINT64_C(1048576)
#define GIB (1024 * MIB)
#define DISK_ALIGN MIB
#define BIOS_SIZE MIB        /* GRUB's core image: 180 KB in a partition of its own */
#define BIOS_BOOT_CODE 440   /* of the first sector; then its signature and partition table */
#define ESP_SIZE (128 * MIB) /* one sector a cluster: FAT32 wants 65525 of them at least */
#define GPT_TAIL MIB /* the second partition table: 33 sectors, rounded up to the alignment */

/* What a tree needs of a file system: its files in blocks of 4096 bytes, and how many there are. */
typedef struct TreeSize {
        uint64_t bytes, inodes;
        bool stale_times; /* an access or change time before the lock's epoch */
} TreeSize;

typedef struct Layout {
        bool uefi, bios, xfs;
        uint64_t size;       /* of the disk; this and all that follows in bytes */
        uint64_t bios_start; /* 0: none */
        uint64_t esp_start;  /* 0: none */
        uint64_t root_start, root_size;
        unsigned inode_ratio; /* ext4: bytes of disk for each inode */
        char disk_guid[37], bios_guid[37], esp_guid[37], root_guid[37];
        char root_uuid[37], hash_seed[37];
        char esp_id[10]; /* FAT serial as mkfs.vfat wants it without the dash: "1234-ABCD" */
} Layout;

/* Returns 0, -ENOSPC with *ret_needed filled where the recipe's disk.size is too
 * small for the tree. */
int layout_make(const Recipe *recipe, const char *tree_digest, const TreeSize *tree, Layout *ret,
                uint64_t *ret_needed);

/* A UUID (version 8, RFC 9562) from the digest and what it names. */
int derive_uuid(const char *tree_digest, const char *label, char ret[static 37]);

/* The texts. NULL on out of memory. */
char *layout_sfdisk_script(const Layout *l);
char *layout_fstab(const Layout *l);
char *layout_grub_early(const Layout *l);

/* The kernel that boots: its release, its initramfs and what the recipe has for its command
 * line. */
typedef struct BootKernel {
        const char *release, *initramfs, *cmdline;
} BootKernel;
char *layout_grub_config(const Layout *l, const BootKernel *k);

/* The same as an entry of the Boot Loader Specification, which family el's own tools read: grubby
 * for the arguments that the next kernel gets. `system` is what its title begins with. */
char *layout_bls_entry(const Layout *l, const char *system, const BootKernel *k);

/* Kernel arguments from the recipe's text: words at white space outside of double quotes, the
 * quotes taken off, as the kernel itself reads them. NULL on out of memory, an empty array
 * for an empty text. */
char **cmdline_split(const char *cmdline);
