/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* RDMA devices in other network namespaces. A kernel whose ib_core has netns_mode=0 ("exclusive",
 * rdma-system(8)) shows each device in one namespace alone: one that was given to a pod is seen in
 * that pod's, and nowhere else. */

#include "shared/macro.h"
#include <sys/types.h>

/* Who is in a namespace, and what holds it. */
typedef struct NetNamespace {
        ino_t inode;
        const pid_t *pids; /* of the processes in it, ascending */
        size_t n_pids;
        const char *name; /* below /run/netns; NULL where it has none */
} NetNamespace;

/* Whether each device is in one namespace. A kernel without ib_core has no devices. */
bool rdma_is_exclusive(void);

/* Enters the namespace that this is an fd of, and mounts its sysfs, in no folder. Returns an fd of
 * the latter's root, or negative errno, with the process in either namespace. */
int net_namespace_enter(int namespace);

/* Calls visit for each other network namespace that has RDMA devices, with its folder of them
 * (/sys/class/infiniband as it is there). The process is in that namespace meanwhile, and in its
 * own again afterwards. What a namespace's processes have mounted is not looked at. Time and number
 * are limited: *ret_skipped counts those that were not looked into. A negative errno of visit ends
 * it. */
int net_namespaces_visit(int (*visit)(void *data, const NetNamespace *n, int class), void *data,
                size_t *ret_skipped);
