/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* SELinux: a new file system's top folder has no label, and what is made in it inherits that. */

/* Gives it the one that the policy has for its place, once: another, which an admin gave it, stays.
 * Nothing where SELinux is off. What fails is logged, for only confined services miss it. */
void scratch_label(const char *mount_point);
