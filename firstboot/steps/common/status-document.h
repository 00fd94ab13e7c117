/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* /run/firstboot/status.json, as firstbootd writes it before it starts a step: how the others
 * went. */

#include "shared/json-util.h"

/* -errno where it cannot be read; *error says why, and has its place in the file. */
int status_document_read(JsonError *error, json_object **ret);

/* The entry of a step; NULL where there is none. It lasts as long as the document, which may be
 * NULL. */
json_object *status_document_step(json_object *document, const char *name);
