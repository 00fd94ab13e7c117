/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whether this is the instance, and the boot, that the state file tells of. */

#include "daemon/state.h"

/* The state, fitted to the instance that the document of the configuration and the machine tell of
 * (identity.h) and to this boot; for another instance a new one, and what was on record of its
 * disks is forgotten. *ret_told: the node's verdict was given before in this boot. 0 or -errno. */
int instance_load_state(json_object *document, State **ret, bool *ret_told);

/* What firstbootd told of this boot (in /run/firstboot/status.json) before it was restarted; NULL
 * where it told nothing. */
json_object *instance_recall_status(void);

/* Whether a state that is in use is of the instance that a newer document tells of; then what is
 * known by now is taken over. 1, 0 or -ENOMEM. */
int instance_fits(json_object *document, State *s);

/* Names the instance in the document as the state does. 0 or -ENOMEM. */
int instance_name(json_object *document, const State *s);
