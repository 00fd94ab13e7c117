/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who this machine is, and whether a record was made by the same one. The cloud's own id decides
 * where both sides have one. Where it is not known, which may be so on any boot, the hardware and
 * the installation tell: a captured image that woke up elsewhere differs in one of them. */

#include "shared/json-util.h"

typedef struct Identity {
        char *cloud_id; /* of the instance, from the cloud itself; NULL: not known */
        char *machine_id, *dmi_uuid, *board_serial; /* NULL: not known, or no use */
} Identity;

void identity_done(Identity *i); /* frees what it has */

/* What machine and cloud say now; cloud_id may be NULL. 0 or -ENOMEM; the caller frees what *ret
 * has. */
int identity_read(const char *cloud_id, Identity *ret);

/* What tells two of them apart ("the DMI UUID"), or NULL where nothing does. */
const char *identity_difference(const Identity *a, const Identity *b);

/* Takes over what is known now; what is not stays as it was. 0 or -ENOMEM. */
int identity_learn(Identity *record, const Identity *now);

json_object *identity_to_json(const Identity *i); /* NULL on out of memory */
int identity_from_json(json_object *o, Identity *ret);
