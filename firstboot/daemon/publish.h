/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Tells everybody who reads files how the node stands: the state file, /run/firstboot/status.json,
 * sd_notify's STATUS=, node_exporter's text file; and at the end the verdict. */

#include "daemon/node.h"

typedef struct Publisher {
        char *written; /* the status document as it was last written */
} Publisher;

void publisher_done(Publisher *p);

/* The configuration, for steps, with secrets: for root alone; not anew where it is there. Logs; 0
 * or -errno. */
int publish_config(json_object *document);

/* Writes what has changed since the last call. Returns whether anything has. */
bool publish_status(Publisher *p, const Node *n);

/* Whether the state file has all that was to be put there; not where its disk was full or
 * read-only. */
bool publish_is_saved(void);

/* The node has settled: /run/firstboot/ready, node-ready.target, the notify unit, the journal. */
void publish_verdict(const Node *n, sd_bus *bus);

/* Whether the verdict on record was announced, to systemd too: firstbootd may have been killed in
 * between. */
bool publish_is_announced(const State *s);
