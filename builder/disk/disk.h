/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A finished tree to a bootable disk (GPT, ESP, root), to image formats, and to the folder OUT/NAME
 * that a build leaves, by tools of the tools tree: no loop device, no mount on the host. A build
 * calls, in this order:
 *   output_settle()          finishes what a killed build left                 output.h
 *   output_check()           before the first stage: OUT/NAME may be replaced
 *   disk_proof_begin()       libguestfs starts beside what follows
 *   disk_writing_begin()     the raw disk, beside the checks of the tree       writing.h
 *   output_begin()           an empty draft of OUT/NAME
 *   disk_writing_finish(), disk_export()  the recipe's formats of it           export.h
 *   disk_proof_finish()      each of them, read back by libguestfs
 *   manifest_write()         what is in it, from what
 *   output_commit()          OUT/NAME, in one rename (place.c)
 * The same layers, lock and tools give the same bytes. */

#include "check/check.h"
#include "disk/delta.h"
#include "disk/export.h"
#include "disk/exported.h"
#include "disk/output.h"
#include "disk/writing.h"
#include "plan/plan.h"
#include "stage/stage.h"

typedef struct DiskInfo {
        uint64_t size; /* of the virtual disk; this and all that follows in bytes */
        char root_uuid[37], esp_id[10], disk_guid[37]; /* derived from the plan's last digest */
        uint64_t root_used, root_files; /* what the tree has, and in how many files */
        uint64_t bios_start, esp_start, root_start, root_size; /* 0: the disk has none */

        /* What the proof expects to read back, as SHA-256; "" for what the disk does not have. */
        Digest fstab, grub_config, efi_loader, bios_loader;
        size_t bios_loader_size; /* of the core image: in the digest it follows the boot sector */
} DiskInfo;

/* Writes the raw disk (sparse) to `path`. Errors are logged, and no half a disk stays. */
int disk_build(Context *ctx, const Plan *plan, Tools *tools, char *const *layers, const char *path,
                DiskInfo *ret);

/* The proof of a disk that is still to be written: starts the appliance that will read it. Errors
 * are logged, -ENOPKG where this host cannot run one. An appliance that does not start is no error
 * yet. */
typedef struct DiskProof DiskProof;
int disk_proof_begin(Context *ctx, const Plan *plan, char *const *layers, DiskProof **ret);
DiskProof *disk_proof_free(DiskProof *p);
DEFINE_CLEANUP(DiskProof *, disk_proof_free);
#define _cleanup_disk_proof_free_ _cleanup_(disk_proof_freep)

/* Reads a finished image (format: qemu-img's name of it) through libguestfs, read-only, and
 * compares with the tree and what disk_build() said. Logs each difference; -EIO where there is one.
 * May be called for several images. */
int disk_proof_finish(DiskProof *p, const DiskInfo *disk, const char *image, const char *format);

typedef struct ManifestTiming {
        const char *what;
        uint64_t usec;
} ManifestTiming;

/* The files that compile stages made: [{stage, path, size, sha256, module, version}]. Errors are
 * logged. */
int disk_list_compiled(Context *ctx, const Plan *plan, json_object **ret);

/* Writes the manifest to `path` and SHA256SUMS beside it; `files` are names there. Besides what
 * people read, output.c reads back "identity" (output_identity()), "proved" and "files". */
int manifest_write(const Plan *plan, const Findings *findings, const DiskInfo *disk,
                char *const *files, const char *tools_digest, json_object *base_made_with,
                json_object *compiled, bool proved, const ManifestTiming *timings, size_t n_timings,
                const char *path);
