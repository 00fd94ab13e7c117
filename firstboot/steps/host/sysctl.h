/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The setting's file in /proc/sys, below the test root; NULL on out of memory. The caller frees
 * it. */
char *host_sysctl_path(const char *name);

/* Writes a value into a file of the kernel's. 0 or -errno; -ENOENT: the kernel has no such
 * setting, and no file is made for it. */
int host_put_setting(const char *path, const char *value);
