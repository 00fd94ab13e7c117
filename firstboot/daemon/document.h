/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How the node stands, for programs that read it. */

#include "daemon/node.h"

/* The status document that firstbootctl, the notify command and the site's own tools read; NULL on
 * out of memory. The caller puts it. */
json_object *status_document(const Node *n);
