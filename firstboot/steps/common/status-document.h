/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The status document, as firstbootd writes it before it starts a step: how the others went. Read
 * by status_file_load(). */

#include "contract/status-file.h"

/* The entry of a step; NULL where there is none. It lasts as long as the document, which may be
 * NULL. */
json_object *status_document_step(json_object *document, const char *name);
