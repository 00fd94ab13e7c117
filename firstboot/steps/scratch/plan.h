/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Decides what is to be done with the local disks, from what was found on them and nothing else:
 * no device is opened here. Everything that could destroy data passes through this one function. */

#include "steps/common/blockdev.h"
#include "steps/common/signature.h"

#define TAG_OURS "firstboot.scratch"
/* No file system was finished on the group yet: it holds no data. */
#define TAG_INCOMPLETE "firstboot.incomplete"
/* Followed by the identity of the machine that made the group. */
#define TAG_MACHINE "firstboot.machine."

/* What is known of one disk. */
typedef struct DiskFacts {
        const Disk *disk;
        int probe_error; /* negative errno: it could not be read */
        Signature signatures[SIGNATURES_MAX];
        int n_signatures;
        bool has_data;    /* no signature, but blocks that are not empty */
        uint64_t data_at; /* the first of them, in bytes */
        bool busy;        /* mounted, or opened by somebody for himself alone */
        char *labelled;   /* device with our label on this disk, or the disk itself; NULL: none */
        char *vg;      /* its volume group; NULL: it is no physical volume, an orphan or lost one */
        char *vg_tags; /* comma-separated */
        bool orphan;   /* a physical volume without a group */
        bool vg_lost;  /* a physical volume of a group that no disk has the metadata of */
        char *vg_uuid;
        unsigned vg_volumes; /* logical volumes in the group */
        unsigned vg_missing; /* physical volumes that the group lacks */
        char *holder;        /* who uses it, if it is not ours; NULL: nobody */
} DiskFacts;

void disk_facts_done(DiskFacts *f);

/* What was recorded when the volume was made. */
typedef struct ScratchRecord {
        char **serials;  /* of the disks; NULL: nothing */
        bool unfinished; /* they were found empty, and have only been written to since */
} ScratchRecord;

typedef struct ScratchWish {
        const char *vg, *label;
        int expected; /* number of disks; -1: as recorded, else whatever there is */
        bool allow_fewer, required;
        bool users_choice;       /* user data makes the volume: of which disks is its business */
        char **claim;            /* serials of disks without signature whose data may go */
        char **discard_partial;  /* UUIDs of groups that lack disks and whose data may go */
        const char *machine;     /* identity of this machine; NULL: not known */
        const char *expected_by; /* why so many are expected; NULL: as last time */
        const char *left_out;    /* disks that only scratch.models would let in; NULL: none */
} ScratchWish;

typedef enum ScratchAction {
        SCRATCH_NOTHING, /* there are no disks, and none are asked for */
        SCRATCH_FAIL,
        SCRATCH_ADOPT_DEVICE, /* mount plan.device */
        SCRATCH_ADOPT_VG,     /* activate and mount */
        SCRATCH_REBUILD,      /* the group is ours and its data is gone or was never there */
        SCRATCH_CREATE,
} ScratchAction;

typedef struct ScratchPlan {
        ScratchAction action;
        const char *code; /* of SCRATCH_FAIL; else of the defect that allow_fewer passes, or NULL */
        const char *passed; /* the first lack that allow_fewer passes; NULL: none */
        char *message;      /* with it */
        char *device;       /* of SCRATCH_ADOPT_DEVICE */
        size_t *use;        /* indices of the disks that the volume is, or will be, made of */
        size_t n_use;
        char *vg;        /* name of the group of SCRATCH_ADOPT_VG and SCRATCH_REBUILD */
        bool vg_missing; /* of SCRATCH_REBUILD: the group lacks physical volumes */
        bool discard;    /* of SCRATCH_REBUILD: as the configuration says, its data goes */
        bool untagged;   /* of SCRATCH_ADOPT_VG: it does not say which machine made it */
} ScratchPlan;

void scratch_plan_done(ScratchPlan *p);

/* Whether the comma-separated tags hold this one. */
bool vg_has_tag(const char *tags, const char *tag);

/* 0 or -ENOMEM. */
int scratch_plan(const DiskFacts *facts, size_t n, const ScratchRecord *record,
                const ScratchWish *wish, ScratchPlan *ret);
