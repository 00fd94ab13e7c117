/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Image formats and their conversion, by the qemu-img of the tools tree. */

#include "plan/plan.h"
#include "stage/stage.h"

typedef struct ImageFormat {
        const char *name;         /* what recipes and --format say */
        const char *suffix;       /* of the file */
        const char *driver;       /* qemu-img's name for it */
        const char *options;      /* -o; NULL: none */
        bool compress, unordered; /* by qemu-img; in no order, by all its threads */
        bool same_bytes; /* of the same disk; other formats carry random ids and the time of day */
        /* Either makes of what qemu-img wrote what is kept; both may be NULL. The second tells who
         * starts it by which firmware. */
        int (*pack)(int from, int to);
        int (*pack_machine)(int from, int to, bool uefi);
        const char *used_by; /* for help and docs */
} ImageFormat;

extern const ImageFormat image_formats[]; /* ends with a NULL name */
const ImageFormat *image_format_find(const char *name);

/* Converts the image `source` (driver: qemu-img's name of its format) to `target`, which appears
 * whole or not at all; with a digest only where it has that, else -EBADMSG, not logged. All other
 * errors are. */
int image_convert(Tools *tools, const char *source, const char *driver, const char *target,
                const ImageFormat *format, const char *sha256);

/* Converts the raw disk to each of the recipe's formats beside it: FOLDER/NAME.qcow2 …
 * Errors are logged. */
int disk_export(Context *ctx, const Plan *plan, Tools *tools, const char *raw, const char *folder,
                char ***ret_files);
