/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The steps that are installed and what each waits for. A step that is not installed is not in the
 * graph. */

#include "contract/step-file.h"

typedef struct Graph {
        Step *steps; /* in an order in which each comes after what it waits for */
        size_t n;
        char **errors; /* each "FILE: what is wrong"; a graph with errors must not be run */
} Graph;

Graph *graph_free(Graph *g);
DEFINE_CLEANUP(Graph *, graph_free);
#define _cleanup_graph_ _cleanup_(graph_freep)

/* Reads all step files and applies config's "steps" section. Faults of files, unknown requirements
 * and cycles end up in errors. 0 or -ENOMEM. */
int graph_load(json_object *config, Graph **ret);

/* NULL where there is none. */
Step *graph_find(const Graph *g, const char *name);

/* Whether a waits for b, directly or through others. A "*" that was not opened up yet counts for
 * nothing: it adapts to the others. */
bool graph_waits_for(const Graph *g, const Step *a, const char *b);
