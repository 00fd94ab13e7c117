/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files of ours that are taken for one another: each is JSON, and ends in .json. */

#include "shared/json-util.h"

typedef enum OtherKind {
        OTHER_RECIPE,
        OTHER_LOCK,
        OTHER_CLUSTER,
        OTHER_STEP,
        OTHER_OVERLAY,
} OtherKind;

typedef struct OtherFile {
        OtherKind kind;
        const char *key; /* that no other kind has */
        json_type type;
        const char *what;   /* "a recipe" */
        const char *remedy; /* what takes it */
} OtherFile;

/* What the file is, NULL where nothing shows it. Ask only of one that is not what it should be. */
const OtherFile *other_file_find(json_object *o);
