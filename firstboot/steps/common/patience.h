/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Work that may hang in the kernel, a dead file server's or a dying disk's, done by a child that
 * can be given up. */

#include "shared/macro.h"

/* Runs f(userdata) in a child and returns what it returns: 0 or a negative errno. -ETIMEDOUT: the
 * child was killed, and left where it does not go. -EBUSY: a child of an earlier call with the same
 * name still hangs; no second one is sent after it. name: of a file in /run/firstboot, without
 * '/'. */
int patience_run(const char *name, uint64_t timeout_usec, int (*f)(void *userdata), void *userdata);
