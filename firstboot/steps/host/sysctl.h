/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The setting's file in /proc/sys, below the test root; NULL on out of memory. The caller frees
 * it. */
char *host_sysctl_path(const char *name);
