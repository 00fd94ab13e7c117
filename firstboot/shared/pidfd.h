/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* To wait for a child and for other things at once. */

#include "shared/macro.h"
#include <sys/types.h>

/* A file descriptor that poll() finds something to read at, or hung up, once the child has ended
 * and is there to be reaped: look at revents != 0. Negative errno; the caller closes it. */
int pidfd_of_child(pid_t pid);

/* The same on kernels older than 5.3. */
int pidfd_by_thread(pid_t pid);
