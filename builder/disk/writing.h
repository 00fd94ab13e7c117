/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* disk_build() in a process of its own, beside what follows; where there is none to be had, or with
 * --jobs=1, disk_writing_finish() does it. */

#include "plan/plan.h"
#include "stage/stage.h"

typedef struct DiskInfo DiskInfo;
typedef struct DiskWriting DiskWriting;

/* All that is given stays the caller's until disk_writing_free(). Errors are logged. */
int disk_writing_begin(Context *ctx, const Plan *plan, Tools *tools, char *const *layers,
                const char *path, DiskWriting **ret);

/* As disk_build(). */
int disk_writing_finish(DiskWriting *w, DiskInfo *ret);

/* Ends it where it is still at work. */
DiskWriting *disk_writing_free(DiskWriting *w);
DEFINE_CLEANUP(DiskWriting *, disk_writing_free);
#define _cleanup_disk_writing_free_ _cleanup_(disk_writing_freep)
