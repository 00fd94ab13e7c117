/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What sandbox.c puts together: the tree (mount.c), what is mounted in it (points.c), the command
 * line around a command (bubblewrap.c) and the system calls that it may make (syscalls.c). */

#include "sandbox/sandbox.h"

/* A tree that is ready to be mounted. */
typedef struct Mount {
        const Sandbox *sandbox;
        char *scratch; /* removed at the end: root, points, upper and work of what is thrown away */
        char *root;    /* where the child mounts the tree */
        char *layers;  /* the store's layers/, which the child works from */
        char *options; /* of the overlay; paths below layers/ are relative to it */
        char *resolver; /* where inside the host's resolv.conf is to be; NULL: nowhere */
} Mount;

/* Lays out scratch and the overlay's options. Mounts nothing. */
int mount_prepare(const Sandbox *s, Mount *ret);
void mount_done(Mount *m);

/* In the child: leaves the host's mount namespace and mounts the tree at m->root. The working
 * folder is layers/ afterwards. Errors are logged. */
int mount_tree(const Mount *m);

/* points.c. Makes the mount points of binds in the new folder `folder`, and finds out where inside
 * the host's resolv.conf is to be: NULL where a sandbox has no network. */
int points_make(const Sandbox *s, const char *folder, char **ret_resolver);

/* In the child, after mount_tree(). Errors are logged.
 *
 * No mount point of the tree is reached through a link. */
int points_check(const Mount *m);

/* The host's device nodes that a sandbox has; makes their mode and owner, and those of the binds'
 * devices, nothing that root of a tree could change. */
extern const char *const sandbox_devices[]; /* ends with NULL */
int points_protect_devices(const Sandbox *s);

/* Two programs of seccomp's, as bubblewrap reads them, in files without a name (close-on-exec). Not
 * `durable`: fsync() and its kind do nothing. */
int syscalls_filters(bool durable, int ret_fds[static 2]);

/* What bubblewrap reads from descriptors. */
typedef struct Handed {
        int filters[2]; /* of syscalls_filters() */
        int *secrets;   /* files without a name, one for each of the sandbox's */
        size_t n_secrets;
} Handed;

/* bubblewrap's whole command line for a command. `interactive`: it is to have the terminal. */
int bubblewrap_argv(const Mount *m, bool interactive, const Handed *handed, char *const command[],
                char ***ret);
int bubblewrap_environment(const Sandbox *s, char ***ret);
