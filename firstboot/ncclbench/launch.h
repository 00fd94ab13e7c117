/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which process of how many this is, and where process 0 is: from flags, from torchrun's
 * variables, an MPI launcher's, or srun's. */

#include "ncclbench/message.h"
#include "ncclbench/options.h"

typedef struct Launch {
        int rank, world, local_rank;
        char host[256], port[8]; /* of process 0; empty where world is 1 */
        char name[64];           /* of this host: SLURMD_NODENAME, else the host name */
        bool whole_node;         /* the process has the host for itself: all its GPUs are its own */
        const char *by;          /* "flags", "torchrun", "srun" … or "alone" */
        MessageKey secret;       /* size 0 where world is 1 */
        bool open;               /* anybody can know the secret */
} Launch;

/* `environment` is a NULL-terminated array of NAME=VALUE (environ). Returns 0 or -EINVAL with
 * *ret_error a text that names the variable or option; the caller frees it. */
int launch_detect(const Options *o, char *const *environment, Launch *ret, char **ret_error);

/* First host of a Slurm node list ("node[003-007,9],other" is node003). -EINVAL. */
int nodelist_first(const char *list, char *ret, size_t size);
