/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Runs the measuring half of the program in a child that can be killed, so that a hanging driver
 * or fabric ends in a verdict. Not spawn.h's spawn_run(): that one waits for the child's end, and
 * a process that hangs inside the NVIDIA driver has none, not even by SIGKILL. */

#include "shared/macro.h"

typedef struct Supervisor Supervisor;
struct Supervisor {
        /* Runs in the child; writes lines to event_fd; the result is its exit status. */
        int (*child)(int event_fd, void *userdata);
        /* Runs in the parent for every line of the child's; may move the deadline. */
        void (*on_line)(Supervisor *s, const char *line);
        void *userdata;
        uint64_t deadline; /* deadline.h; then SIGTERM, SIGKILL after a second */
};

typedef enum ChildEnd {
        CHILD_EXITED,      /* *ret_status: exit status */
        CHILD_SIGNALED,    /* *ret_status: the signal */
        CHILD_TIMEOUT,     /* killed at the deadline */
        CHILD_STUCK,       /* survived SIGKILL for five seconds and is left behind */
        CHILD_INTERRUPTED, /* killed because of a signal to us (interrupt_install() of spawn.h) */
} ChildEnd;

/* Returns 0, or -errno where no child could be started. */
int supervise(Supervisor *s, ChildEnd *ret_end, int *ret_status);
