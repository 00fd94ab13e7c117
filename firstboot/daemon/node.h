/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is known of the node in this boot: configuration, steps, how each stands, and what follows
 * from that. The engine writes it; what tells others (publish, bus-api) reads it. */

#include "daemon/job.h"
#include "contract/graph.h"

typedef struct Node {
        json_object *document; /* firstboot-helper's: config, sources, instance, errors, warnings */
        Graph *graph;          /* NULL until the configuration is there */
        State *state;          /* NULL until then too */
        Job *jobs;             /* one for each step of the graph, in its order */
        size_t n_jobs;

        json_object *fingerprint; /* NULL until the verdict */

        /* What was told of this boot before firstbootd was restarted: it holds until the state is
         * there. NULL where there is none. */
        json_object *before;

        /* What keeps the whole node from going on, a reason code, or NULL. */
        const char *problem;
        char *problem_text;
        uint64_t retry_usec; /* when the configuration is gathered again; 0: it is not */
} Node;

void node_done(Node *n); /* frees what it has */

/* A job for each step of the graph. 0 or -ENOMEM. */
int node_make_jobs(Node *n, const JobHost *host);
void node_drop_jobs(Node *n);

Job *node_find_job(const Node *n, const char *name); /* NULL where there is none */

/* The configuration, merged; NULL before there is one. */
json_object *node_config(const Node *n);

/* What was told before a restart, as long as it holds; or NULL. */
json_object *node_before(const Node *n);

/* The verdict as it was given, NODE_STARTING before. */
NodeStatus node_status(const Node *n);

/* The first reason that keeps the node from being ready, or from being without defects; "" where
 * there is none. */
const char *node_code(const Node *n);

/* What the steps say by now: NODE_STARTING until every one has come to its end, whether or not one
 * has failed before. It does not wait for a node to be drained. */
NodeStatus node_verdict(const Node *n);

/* The step that makes membership i (see membership.h); NULL where the node has no such step. */
Job *node_membership(const Node *n, size_t i);

/* Whether j is one of them and has to hold the node back (drain it, say): its daemon was let run in
 * this boot, so that work may come, and something required has failed since. */
bool node_must_drain(const Node *n, const Job *j);

/* The same, and its last run was before that failure. */
bool node_drain_is_due(const Node *n, const Job *j);

typedef enum Hurdle {
        HURDLE_NONE,
        HURDLE_WAIT,
        HURDLE_FAILED, /* something required has failed */
} Hurdle;

/* The step that j requires and that has failed; NULL where there is none. */
const Job *node_failed_requirement(const Node *n, const Job *j);

/* What stands between a waiting step and its start; *ret_failed is the requirement that failed. */
Hurdle node_hurdle(const Node *n, const Job *j, const Job **ret_failed);
