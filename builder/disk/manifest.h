/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* manifest.json beside the image: what is in it, from what, how long it took. */

#include "check/check.h"
#include "disk/disk.h"

typedef struct ManifestTiming {
        const char *what;
        uint64_t usec;
} ManifestTiming;

/* `files`: names beside `path`. Besides what people read, output.c reads back "identity"
 * (output_identity()), "proved" and "files" [{"name", "size", "sha256"}]. */
int manifest_write(Context *ctx, const Plan *plan, const Findings *findings, const DiskInfo *disk,
                char *const *files, const char *tools_digest, bool proved,
                const ManifestTiming *timings, size_t n_timings, const char *path);
