/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The door of boot/: boots an image in QEMU, watched until it is up or has failed. The image is
 * only ever read. Fill BootOptions (vm.h has the machine and the parsers of its options), have it
 * checked, run it:
 *
 *     BootOptions o = { .image = path, .until = "multi-user", .timeout = 600, .vm = { … } };
 *
 *     r = boot_options_check(&o);
 *     code = boot_run(ctx, tools, &o);
 *     boot_options_done(&o); */

#include "common/context.h"
#include "common/exit-code.h"
#include "recipe/recipe.h"
#include "stage/stage.h"
#include "boot/vm.h"

typedef struct BootOptions {
        const char *image;
        const char *until;
        VmConfig vm;
        VmAccel accel;
        uint64_t disk_size; /* bytes; 0: as large as the image */
        unsigned timeout;   /* seconds */
        const char *user_data, *meta_data, *network_config;
        const char *hostname; /* NULL: "node" */
        const char *hosts;    /* lines for the guest's /etc/hosts; may be NULL */
        char **keys;          /* public ssh keys */
        bool no_seed, no_journal, keep, power_off, strict;
        bool error_shell;    /* a boot that fails leads the terminal into the guest */
        char **allow_failed; /* glob patterns of units that may fail under strict */
        const char *save, *state;
        int report_fd;  /* > 0: how the boot goes, for cluster.c to read; see machine.h */
        char **command; /* run in the guest over ssh once it is up; NULL: none */
} BootOptions;

/* Appends the public keys of a file, one a line. A private key is refused. Errors are logged. */
int boot_read_keys(const char *path, char ***keys);

/* What can be known to be wrong before anything is built or started: -EINVAL (logged). */
int boot_options_check(const BootOptions *o);
void boot_options_done(BootOptions *o);

/* The whole of it: an exit code. */
int boot_run(Context *ctx, Tools *tools, const BootOptions *o);

/* A cluster: several machines on one private network, booted side by side. */
typedef struct Cluster Cluster;
typedef struct ClusterOptions {
        const char *file, *output, *state, *save;
        unsigned timeout; /* seconds, of each machine */
        VmAccel accel;
        char **keys;    /* public ssh keys */
        char **command; /* run in the first machine once all are up; NULL: they run until Ctrl-C */
        Cluster *cluster; /* cluster_check()'s */
} ClusterOptions;

/* Reads the file and looks at all that it names: an exit code (logged). */
int cluster_check(ClusterOptions *o);
int cluster_run(Context *ctx, Tools *tools, ClusterOptions *o); /* an exit code */
void cluster_options_done(ClusterOptions *o);
