/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A finished tree to a bootable disk: GPT, ESP, root; native tools of the tools tree; no mount on
 * the host. */

#include "plan/plan.h"
#include "stage/tools.h"

typedef struct DiskInfo {
        uint64_t size; /* of the virtual disk; this and all that follows in bytes */
        char root_uuid[37], esp_id[10], disk_guid[37]; /* derived from the plan's last digest */
        uint64_t root_used, root_files; /* what the tree has, and in how many files */
        uint64_t bios_start, esp_start, root_start, root_size; /* 0: the disk has none */

        /* What the proof expects to read back, as SHA-256; "" for what the disk does not have. */
        Digest fstab, grub_config, efi_loader, bios_loader;
        size_t bios_loader_size; /* of the core image, which follows the boot sector's 440 bytes in
                                    the digest */
} DiskInfo;

/* Writes the raw disk (sparse) to `path`. The same layers, lock and tools give the same bytes. */
int disk_build(Context *ctx, const Plan *plan, Tools *tools, char *const *layers, const char *path,
                DiskInfo *ret);

/* Converts the raw disk to each of the recipe's formats beside it: FOLDER/NAME.qcow2 … */
int disk_export(Context *ctx, const Plan *plan, Tools *tools, const char *raw, const char *folder,
                char ***ret_files);

/* Reads the finished disk once through libguestfs, read-only, and compares with the tree and what
 * disk_build() said. Logs each difference; -EIO where there is one. */
int disk_proof(Context *ctx, const Plan *plan, char *const *layers, const DiskInfo *disk,
                const char *image, const char *format);
