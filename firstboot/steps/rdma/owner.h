/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whose a network namespace is. A pod is known by the cgroup that kubelet put its processes in, and
 * by its name by the folders that kubelet makes for its logs: files that every kubelet and every
 * container runtime leaves, and no socket that may hang. */

#include "shared/strv.h"
#include "steps/rdma/namespaces.h"

/* What kubelet's folders say, read once, when first asked for. */
typedef struct Owners {
        char **pods, **containers;
        bool read;
} Owners;

void owners_done(Owners *o);

/* The pod's UID and the container's id in the text of /proc/PID/cgroup. 1; 0 where the process is
 * in no pod (ret_… untouched);
 * -ENOMEM. The id is NULL where there is none. The caller frees both. */
int pod_of_cgroup(const char *text, char **ret_uid, char **ret_container);

/* Labels, each with a comma before it: ,namespace="…",pod="…" and ,container="…" where only one
 * container of the pod is in the namespace; ,pod_uid="…" of a pod whose name is not known;
 * ,netns="…" of a namespace that is no pod's. The caller frees them. */
int owner_labels(Owners *o, const NetNamespace *n, char **ret);
