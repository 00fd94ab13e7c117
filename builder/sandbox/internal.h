/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What sandbox.c puts together: the tree (mount.c) and the command line around a command
 * (bubblewrap.c). */

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

/* bubblewrap's whole command line for a command. `interactive`: it is to have the terminal. */
int bubblewrap_argv(const Mount *m, bool interactive, char *const command[], char ***ret);
int bubblewrap_environment(const Sandbox *s, char ***ret);
