/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a cluster of virtual machines is to be (images/clusters/x.json): plain data. Its strings are
 * checked as words; what the options of `imgbuild boot` check is checked by them. */

#include "shared/macro.h"

#include <json-c/json.h>

#define CLUSTER_MACHINES_MAX 64

typedef struct ClusterMachine {
        char *name;
        char *image;     /* a recipe's name, or a path */
        char *until;     /* NULL: ready */
        char *user_data; /* path; NULL: none */
        char *memory, *disk_size;
        unsigned cpus; /* 0: not said */
        char **nvme, **links;
} ClusterMachine;

typedef struct ClusterFile {
        char *path, *name, *network;
        ClusterMachine *machines; /* each by itself: "count" is spelled out */
        size_t n_machines;
} ClusterFile;

/* Every error is logged, all of them in one go: -EINVAL then. */
int cluster_file_load(const char *path, ClusterFile **ret);
ClusterFile *cluster_file_free(ClusterFile *f);
DEFINE_CLEANUP(ClusterFile *, cluster_file_free);
#define _cleanup_cluster_file_ _cleanup_(cluster_file_freep)
