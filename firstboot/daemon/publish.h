/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Tells everybody how the node stands: the state file, /run/firstboot/status.json, D-Bus
 * properties and signals, sd_notify's STATUS=, node_exporter's text file; and at the end the
 * verdict. */

#include "daemon/engine.h"

/* The status document that firstbootctl, the notify command and the site's own tools read; NULL on
 * out of memory. The caller puts it. */
json_object *status_document(const Engine *e);

/* Writes what has changed since the last call; does nothing where nothing has. */
void publish_status(Engine *e);

/* The node has settled: /run/firstboot/ready, node-ready.target, the notify unit, the journal. */
void publish_verdict(Engine *e);

/* node_exporter's text; NULL on out of memory. The caller frees it. */
char *metrics_text(const Engine *e);
