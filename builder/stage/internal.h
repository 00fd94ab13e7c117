/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files that make one kind of stage each share: stage.c begins a layer, calls the kind's
 * function, and commits. The functions log their errors. */

#include "stage/stage.h"

/* Folders inside a sandbox. */
#define INSIDE "/run/imgbuild"
#define INSIDE_DEBS INSIDE "/debs"

typedef struct StageBuild {
        Context *ctx;
        const Plan *plan;
        const Stage *stage;
        Sandbox sandbox; /* over the layers below, changes to the draft: copy it, add binds, run */
} StageBuild;

int stage_base(StageBuild *b);
int stage_packages(StageBuild *b);
int stage_artifacts(StageBuild *b);
int stage_compile(StageBuild *b);
int stage_files(StageBuild *b);
int stage_run(StageBuild *b);
int stage_initramfs(StageBuild *b);
int stage_services(StageBuild *b);
int stage_finalize(StageBuild *b);

/* Removes from the stage's layer what package management left there for itself: old copies, logs,
 * caches. */
int stage_tidy(StageBuild *b);

/* As stage_command(), for callers that want the exit code and the last lines shown where it is not
 * 0. */
int stage_command_shown(Context *ctx, const char *stage_id, const Sandbox *sandbox,
                const SpawnOptions *options, char *const argv[], int *ret_status);

/* Installs .debs (paths on the host, same file system as the store) with the tree's own apt: no
 * lists, no network, nothing started, initramfs and man-db left for later. `sandbox`: b's, or one
 * with another upper. */
int stage_install(StageBuild *b, const Sandbox *sandbox, char *const *debs, char *const *names);
/* The blobs of locked packages and the file names apt is to see: two lists of equal length. */
int stage_locked_debs(
                StageBuild *b, const LockedStage *locked, char ***ret_blobs, char ***ret_names);
/* Hard links of `blobs` under `names` in a new scratch folder: many files, one bind. */
int stage_link_debs(StageBuild *b, char *const *blobs, char *const *names, char **ret_folder);
/* apt's sources of the distribution or of an overlay's kept repositories, written into the
 * image. */
int stage_write_sources(StageBuild *b);

/* Downloads everything that stages first…last lack, all at once. missing: one flag a stage. */
int stage_fetch(Context *ctx, const Plan *plan, const bool *missing, size_t last);
