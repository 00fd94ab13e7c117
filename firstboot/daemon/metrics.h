/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How the node stands, for Prometheus. */

#include "daemon/node.h"

/* node_exporter's text of a node that has a state; NULL on out of memory. The caller frees it. */
char *metrics_text(const Node *n);
