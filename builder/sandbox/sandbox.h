/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Commands and C functions inside a layered tree. Fill a Sandbox, and call sandbox_run() for a
 * program of the tree, sandbox_call() for a function of ours.
 *
 * The overlay is mounted in a mount namespace of the child's own, and bubblewrap gives it pid, ipc,
 * uts and (unless `network`) network namespaces of its own: whatever happens to us, the kernel
 * takes the mount and every process away with the last of them. Nothing is mounted on the host. */

#include "common/secret.h"
#include "sandbox/limits.h"
#include "shared/spawn.h"
#include "store/store.h"

typedef struct SandboxBind {
        const char *source; /* host path: file or folder */
        const char *target; /* absolute path inside; made where missing, but in no layer */
        bool writable;
        bool device; /* a device node that is to work inside */
} SandboxBind;

/* Where a sandbox of the host's programs has the tree that it works on. */
#define SANDBOX_TREE "/run/imgbuild/tree"

/* Where a command finds its secrets: $SECRETS. */
#define SANDBOX_SECRETS "/run/imgbuild/secrets"

typedef struct Sandbox {
        Store *store;
        char *const *layers; /* trees, lowest first */

        /* Where changes go. Both NULL: they are thrown away, or refused where `read_only`. */
        const char *upper, *work;
        bool read_only;

        bool network;
        bool cgroups;   /* it sees, and only sees, which cgroups are below ours */
        bool low_ports; /* its command may listen below port 1024 */
        bool durable;   /* its fsync() reaches the disk: what it writes is not synced by us */

        /* Programs are the host's (its /usr, read-only; no other folder of it), or those of the
         * tree `programs` where that is not NULL; the tree is at SANDBOX_TREE. */
        bool host;
        const char *programs;

        const SandboxBind *binds;
        size_t n_binds;

        char *const *env;     /* on top of PATH, HOME, LC_ALL=C.UTF-8 and SOURCE_DATE_EPOCH */
        const Limits *limits; /* for logged_command(); NULL: none */
        const char *cgroup;   /* the folder of that which the command goes into; NULL: ours */
        int64_t epoch;
        const char *path_prefix; /* folder inside that goes in front of PATH; may be NULL */
        const char *cwd;         /* inside; NULL: / */

        /* Ends with NULL; NULL: none. Each is a file in SANDBOX_SECRETS, in memory, and masked in
         * the log. Not for a sandbox of the host's programs. */
        const Secret *const *secrets;

        const char *script; /* what argv[0] is on the host, for messages; NULL: not from there */
} Sandbox;

/* Runs argv in the tree. `options` as for spawn_run(); prepare, env and cwd are the sandbox's. */
int sandbox_run(const Sandbox *s, const SpawnOptions *options, char *const argv[], int *ret_status);

/* Calls fn in a child process that sees the merged tree at `root` (an absolute path in a private
 * mount namespace, host files visible). Its return value (0…125, or negative errno) is returned. */
int sandbox_call(const Sandbox *s, int (*fn)(const char *root, void *userdata), void *userdata);
