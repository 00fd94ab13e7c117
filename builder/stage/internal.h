/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files that make one kind of stage each share: stage.c begins a layer, calls the kind's
 * function, and commits. The functions log their errors. */

#include "plan/plan.h"
#include "stage/tools.h"
#include "sandbox/logged-command.h"

/* Folders inside a sandbox. */
#define INSIDE "/run/imgbuild"
#define INSIDE_DEBS INSIDE "/debs"
#define INSIDE_SCRIPT INSIDE "/script"

typedef struct StageBuild {
        Context *ctx;
        const Plan *plan;
        const Stage *stage;
        const Maker *maker;     /* of a base */
        json_object *made_with; /* filled by stage_base(), owned by the builder */
        Sandbox sandbox; /* over the layers below, changes to the draft: copy it, add binds, run */
} StageBuild;

/* One function a kind. */
int stage_base(StageBuild *b);
int stage_image(StageBuild *b);
int stage_packages(StageBuild *b);
int stage_artifacts(StageBuild *b);
int stage_compile(StageBuild *b);
int stage_python(StageBuild *b);
int stage_files(StageBuild *b);
int stage_run(StageBuild *b);
int stage_initramfs(StageBuild *b);
int stage_services(StageBuild *b);
int stage_finalize(StageBuild *b);

/* A command of the stage: in b's own sandbox, or in one made from it. */
static inline int stage_command(const StageBuild *b, const Sandbox *s, char *const argv[]) {
        return logged_command(b->ctx, b->stage->id, s, NULL, argv);
}

/* tidy.c: what a table names as one machine's own, as package management's, as traces. Of a whole
 * tree; and of the stage's layer alone, or of a folder like one, what package management left
 * there. */
int tidy_tree(int root_fd);
int tidy_layer(StageBuild *b);
int tidy_upper(int root_fd, StageKind kind);
int tidy_leftovers(int folder_fd); /* of replaced configuration files; takes the fd */

/* locked-files.c: the blobs of locked packages and the file names apt is to see: two lists of equal
 * length. */
int stage_locked_debs(
                StageBuild *b, const LockedStage *locked, char ***ret_blobs, char ***ret_names);
/* Hard links of `blobs` under `names` in a new scratch folder: many files, one bind. */
int stage_link_debs(StageBuild *b, char *const *blobs, char *const *names, char **ret_folder);
/* install.c: installs .debs (paths on the host, same file system as the store) with the tree's own
 * apt: no lists, no network, nothing started, initramfs and man-db left for later. `sandbox`: b's,
 * or one with another upper. */
int stage_install(StageBuild *b, const Sandbox *sandbox, char *const *blobs, char *const *names);

/* install-el.c: the same with rpm, the tree's own; and that of the tools, into a tree that has none
 * yet. */
int stage_install_el(StageBuild *b, const Sandbox *sandbox, char *const *blobs, char *const *names);
int stage_base_el(StageBuild *b);

/* stray.c: the first thing in a layer's tree that is neither the folder `below` (absolute) nor on
 * the way to it, with its path inside; NULL in *ret where there is none. */
int stage_find_stray(const char *upper, const char *below, char **ret);
/* Whether the folders above `path` have the modes, owners and attributes of the tree below the
 * stage's layer; new ones are 0755 and root's. -EIO (logged). */
int stage_parents_unchanged(const StageBuild *b, const char *path);

/* secrets.c: those of a run stage, as Sandbox has them; NULL where it asks for none. Its layer may
 * hold none of them: -EIO (logged) where it does. */
int stage_secrets(const StageBuild *b, const Secret ***ret);
int stage_find_secrets(const StageBuild *b, const Secret *const *secrets);
/* Whether all that the missing stages ask for was given; -EINVAL (logged). */
int stage_have_secrets(const Context *ctx, const Plan *plan, const bool *missing, size_t last);

/* sources.c: apt's or dnf's sources of kept repositories, the overlay's or the recipe's own,
 * written into the image. */
int stage_write_sources(StageBuild *b, const Repository *repositories, size_t n);

/* fetch.c: downloads everything that stages first…last lack, all at once. missing: one flag a
 * stage. */
int stage_fetch(Context *ctx, const Plan *plan, const bool *missing, size_t last);

/* remote.c: takes what a remote store has of the missing stages 0…last, which are missing no more
 * then. What it does not have, or what cannot be believed, stays missing. -ECANCELED, -ENOMEM. */
int stage_take_remote(Context *ctx, const Plan *plan, bool *missing, size_t last);
void stage_tell_remote(const Context *ctx, const bool *missing, size_t last); /* what came of it */

/* describe.c: what a layer's meta.json says of stage i; 0 or -ENOMEM, the caller puts *ret. And the
 * time that none of its files is newer than. */
int stage_describe(const Plan *plan, size_t i, json_object *made_with, json_object **ret);
int64_t stage_newest_time(const Plan *plan, const Stage *s);

/* beside.c: compile stages in processes of their own, before their turn. */
typedef struct Beside Beside;
typedef struct BesideWork {
        const Plan *plan;
        const Maker *maker;
        /* Makes stage i; 1: another build did. */
        int (*build)(Context *ctx, const Plan *plan, const Maker *maker, size_t i);
} BesideWork;
Beside *beside_new(const Plan *plan);
Beside *beside_free(Beside *b); /* ends those that are still at work */
DEFINE_CLEANUP(Beside *, beside_free);
/* Begins what may be: all that it is made on is there, and its turn is not yet. */
void beside_begin(
                Beside *b, Context *ctx, const BesideWork *work, const bool *missing, size_t last);
bool beside_has(const Beside *b, size_t i);
/* Waits for stage i, and says what it had to say: as work->build. */
int beside_finish(Beside *b, size_t i);

/* drop.c: removes the downloads of the stages first…last that are not missing, but for those that a
 * missing one needs too. */
int stage_drop_downloads(Context *ctx, const Plan *plan, const bool *missing, size_t last);
