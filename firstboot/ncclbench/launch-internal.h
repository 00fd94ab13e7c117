/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What launch.c and launch-mpi.c share: reading the environment (launch-environment.c). */

#include "ncclbench/launch.h"

const char *environment_get(char *const *environment, const char *name); /* NULL: not set */

/* A number from a variable: 1 where set, 0 where not, -EINVAL for nonsense. */
int environment_number(char *const *environment, const char *name, long min, long max, long *ret,
                char **ret_error);

int launch_set_master(Launch *l, const char *host, const char *port, char **ret_error);

/* The first host of the Slurm step (or job) that the environment is of. 0, -ENOENT where it is of
 * none, -EINVAL where its list is no node list. */
int launch_slurm_host(char *const *environment, char *ret, size_t size);

/* launch-mpi.c: what mpirun, mpiexec and their like say. 1 where a launcher was recognised and *l
 * is filled, 0 where there is none, -EINVAL with *ret_error. */
int launch_from_mpi(char *const *environment, Launch *l, char **ret_error);

/* A launcher that says which process this is, but not of how many: its variable; NULL: none. */
const char *launch_unknown_launcher(char *const *environment);
