/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The agent's verdict on the Node object: a condition for people, a taint and a cordon for the
 * scheduler. The rules are apart from what asks and writes (membership.h), so that they can be
 * tested.
 *
 * What is ours is known by two annotations with texts of own-reason.h: VERDICT_ANNOTATION stands
 * beside our taint, CORDON_ANNOTATION beside a cordon of ours. A cordon without it is somebody
 * else's, and so is a taint whose value is not the one that the annotation has. */

#include "shared/json-util.h"

#define VERDICT_CONDITION "GPUNodeReady"
#define VERDICT_TAINT "imgbuild.org/not-ready"
#define VERDICT_ANNOTATION "imgbuild.org/not-ready"
#define CORDON_ANNOTATION "imgbuild.org/cordoned"

typedef struct NodeView {
        bool cordoned, cordon_ours;
        bool tainted, taint_ours; /* with our key */
        bool marked;              /* one of our annotations is there */
        bool ready;               /* kubelet's own condition */
        const char *ready_text;   /* why not; borrowed from the node, as all texts here */
        const char *boot_id;      /* of the boot in which kubelet registered; NULL */
        const char *version;      /* kubelet's; NULL */
} NodeView;

/* What a Node object says; it may be any JSON. */
void node_view(json_object *node, NodeView *ret);

/* The merge patch that holds the node back with the reason (own_reason()), with our taint where
 * asked to; or with reason NULL the one that lifts what is ours. *ret is NULL where nothing is to
 * be changed; the caller puts it. It has the node's resourceVersion: whoever changes the node
 * meanwhile, wins. -EBADMSG where the node has none; -ENOMEM. */
int verdict_patch(json_object *node, const char *reason, bool taint, json_object **ret);

/* The strategic merge patch of the node's status with our condition: false with code and text, or
 * true with code NULL. now: "2025-06-03T01:02:03Z". *ret is NULL where the condition says just
 * that. */
int verdict_condition(json_object *node, const char *code, const char *text, const char *now,
                json_object **ret);
