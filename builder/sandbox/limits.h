/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What one command in a sandbox may take of the machine: time, memory, processes, and the last of
 * the store's disk. The kernel holds memory and processes where there is a cgroup for it; what is
 * left is looked at from outside, five times a second: rlimits do not bind root, and few build
 * machines hand out a cgroup. A command that goes over is ended with all of its processes. */

#include "sandbox/cgroup.h"
#include "shared/macro.h"

#include <sys/types.h>

typedef struct Limits {     /* 0: the default */
        uint64_t time_usec; /* 2 h */
        uint64_t memory;    /* bytes; 4/5 of what is available when the command begins */
        uint64_t processes; /* with their threads; 4096 */
} Limits;

/* What the machine has left for new work, in bytes; 0 where that cannot be known. */
uint64_t memory_available(void);

/* Those of `over`, and where it has none those of `below`. */
Limits limits_over(const Limits *over, const Limits *below);

typedef struct LimitWatch {
        Limits limits;     /* without 0 */
        const char *store; /* a folder of the file system that has to keep room; borrowed */
        uint64_t used;     /* bytes of memory when the command began */
        uint64_t procs;
        unsigned looks; /* so far */
        uint64_t floor; /* bytes that have to stay free */
        Cgroup cgroup;  /* limit_watch_cgroup()'s */
        char *why;      /* why the command was ended */
} LimitWatch;

void limit_watch_begin(LimitWatch *w, const Limits *limits, const char *store);
void limit_watch_done(LimitWatch *w);

/* Makes a cgroup for the command where this machine has one for us, which has to go in:
 * w->cgroup.path, else NULL. `mount`, `self`: CGROUP_MOUNT and /proc/self/cgroup. */
void limit_watch_cgroup(LimitWatch *w, const char *mount, const char *self);

/* For SpawnOptions.watch, with a LimitWatch: 0, or why the command has to end: -EDQUOT for memory
 * and processes, -ENOSPC for the disk; w->why says it. */
int limit_watch_look(pid_t pid, void *userdata);

/* After the command's end: as limit_watch_look(), of what the kernel refused or ended meanwhile. */
int limit_watch_met(LimitWatch *w);
