/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The folder of results, watched: a verdict that comes when its step has ended is not lost. */

#include "daemon/node.h"

/* Watches from now on; the node must outlive *ret. 0 or -errno. */
int late_watch(sd_event *event, Node *node, sd_event_source **ret);

/* Looks once, for what came while nobody watched. */
void late_look(Node *node);
