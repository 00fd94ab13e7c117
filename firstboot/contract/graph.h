/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The steps that are installed and what each waits for. A step is one JSON file: the shipped ones
 * in /usr/lib/firstboot/steps.d, a site's own in /etc/firstboot/steps.d (same name: the site's
 * wins; an empty file takes the step out). A step that is not installed is not in the graph. */

#include "shared/json-util.h"
#include "shared/strv.h"

typedef struct Step {
        char *name;
        char *description;
        char *file;  /* where it is described */
        char **exec; /* site steps: program and arguments; NULL: firstboot-step has it built in */
        char **
                requires;  /* must be done before it starts; names of steps in the graph */
        char **after;      /* must have ended, well or not; names of steps in the graph */
        char **only_if;    /* conditions of which one must hold (condition.h), NULL: none */
        bool requires_all; /* "*": requires every step that does not wait for it */
        bool first_boot_only;
        bool required;                       /* its failure fails the node, else degrades it */
        bool run_on_failure;                 /* runs even where a step it requires has failed */
        uint64_t timeout_usec;               /* of one attempt */
        unsigned retries;                    /* further attempts after a transient failure */
        uint64_t delay_usec, delay_max_usec; /* first pause, doubled each time up to the maximum */
} Step;

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

/* The names of the steps that are installed, in no special order, without reading them. 0 or
 * -errno. */
int graph_installed(char ***ret_names);

/* NULL where there is none. */
Step *graph_find(const Graph *g, const char *name);

/* Letters, digits and '-', starting with a letter, at most 32. */
bool step_name_is_valid(const char *name);
