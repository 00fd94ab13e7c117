/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A cgroup of a command's own (cgroup v2), in which the kernel holds its memory and its processes.
 * Made below imgbuild's own cgroup where that was delegated to us (a container's, a unit with
 * Delegate=yes), and nowhere else: what somebody allows imgbuild is never exceeded by what it
 * runs. */

#include "shared/macro.h"

#define CGROUP_MOUNT "/sys/fs/cgroup"

typedef struct Cgroup {
        char *path; /* its folder; NULL: none */
        int lock;   /* held while it is in use: a sweep leaves it alone */
} Cgroup;

#define CGROUP_NONE            \
        (Cgroup) {             \
                .lock = -EBADF \
        }

/* The folder for commands' cgroups. `mount`: where cgroup v2 is mounted; `self`: the file
 * /proc/self/cgroup. Moves our own processes out of the way where it has to, into a cgroup below.
 * -EOPNOTSUPP where there is none that may be used; other -errno. */
int cgroup_home(const char *mount, const char *self, char **ret);

/* Sweeps what killed builds left in `home`, and makes one with these limits: bytes, and processes
 * with their threads. */
int cgroup_make(const char *home, uint64_t memory, uint64_t processes, Cgroup *ret);

/* Ends all that is in it, and removes it. Takes CGROUP_NONE. */
void cgroup_done(Cgroup *c);

/* The calling process goes in, and whatever it starts. */
int cgroup_enter(const char *path);

/* How often its commands met a limit so far. */
int cgroup_met(const Cgroup *c, uint64_t *ret_memory, uint64_t *ret_processes);
