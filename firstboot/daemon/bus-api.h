/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* org.imgbuild.FirstBoot1 on the system bus: the node and its steps as objects, for firstbootctl
 * and others. How the node stands is for everybody; the configuration, and changes, are for root
 * and whom polkit lets. */

#include "daemon/authorize.h"
#include "daemon/node.h"

typedef struct BusApi {
        const Node *node;

        /* What Rerun() does: -ENOENT: no such step; -EBUSY: not now; other -errno. */
        int (*rerun)(const char *step, void *userdata);
        void *userdata;

        Authorizer authorizer;
        NodeStatus told_node; /* as last signalled on the bus */
} BusApi;

/* Puts the objects on a bus; they go with it. */
int bus_api_install(BusApi *a, sd_bus *bus);

/* Announces what has changed since the last call: StepChanged, NodeChanged, PropertiesChanged. */
void bus_api_changed(BusApi *a, sd_bus *bus);
