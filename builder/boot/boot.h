/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One boot of an image: prepared, run, watched, reported. */

#include "boot/watch.h"
#include "common/context.h"
#include "common/exit-code.h"
#include "boot/process.h"
#include "boot/vm.h"

typedef struct BootOptions {
        const char *image;
        const char *until;
        VmConfig vm;
        VmAccel accel;
        uint64_t disk_size; /* bytes; 0: as large as the image */
        unsigned timeout;   /* seconds */
        const char *user_data, *meta_data, *network_config;
        char **keys; /* public ssh keys */
        bool no_seed, no_journal, keep, power_off, strict;
        char **allow_failed; /* glob patterns of units that may fail under strict */
        const char *save, *state;
        char **command; /* run in the guest over ssh once it is up; NULL: none */
} BootOptions;

/* A boot's files and folders. */
typedef struct Boot {
        Context *ctx;
        Tools *tools;
        const BootOptions *o;
        VmConfig vm; /* the options' with what was found out; borrows their strings */
        char *format;

        char *folder;   /* disks, firmware variables, seed, monitor: scratch, or the state folder */
        int state_lock; /* held on the state folder */
        char *image_folder;
        char *logs, *console, *journal, *readable, *result; /* paths */
        char *console_name, *journal_name;
        char *key; /* private key of ours for --, below folder */
        char **keys;
        uint16_t ssh_port;

        char *no_kvm; /* why not; NULL with KVM, or where nobody asked */
        BootWatch watch;
        uint64_t started, ended; /* µs, CLOCK_MONOTONIC */
        int console_fd, journal_fd;
        bool guest_ended; /* switched itself off */
        unsigned resets;
        char last[160]; /* what the guest's systemd said last */
} Boot;

int boot_prepare(Boot *b); /* everything that is there before QEMU starts; errors are logged */
void boot_done(Boot *b);
#define _cleanup_boot_ _cleanup_(boot_done)

/* The whole of it: an exit code. */
int boot_run(Context *ctx, Tools *tools, const BootOptions *o);

/* ssh into the guest. boot_ssh_key() makes a throw-away key; the others return 0, or log. */
int boot_ssh_key(Boot *b);
int boot_ssh_wait(Boot *b, VmProcess *p, uint64_t deadline); /* until root can log in */
int boot_ssh_command(Boot *b, int *ret_status);

void boot_report_start(const Boot *b);
void boot_report_end(Boot *b, int exit_code);
/* Failed units that --strict does not forgive; the caller frees the list. */
int boot_unforgiven(const Boot *b, char ***ret);

uint64_t boot_clock(void); /* µs, CLOCK_MONOTONIC */
