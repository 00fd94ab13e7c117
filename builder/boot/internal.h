/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One boot as the files of this room share it: prepare.c makes what is there before QEMU starts,
 * boot.c runs it, follow.c reads what it says, conclude.c does what comes after the verdict, ssh.c
 * works in the guest, shell.c lets a person do so, report.c tells how it went. */

#include "boot/boot.h"
#include "boot/process.h"
#include "boot/qemu.h"
#include "boot/watch.h"

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
        char *instance; /* id */
        uint16_t ssh_port;
        pid_t ports[VM_LINK_MAX]; /* the machine's ends of its links */

        char *no_kvm; /* why not; NULL with KVM, or where nobody asked */
        BootWatch watch;
        uint64_t started, ended; /* µs, now_usec() */
        int console_fd, journal_fd;
        bool guest_ended; /* switched itself off */
        bool panicked;
        bool crashed; /* QEMU did, once; not a second time in one boot */
        unsigned resets;
        char last[160]; /* what the guest's systemd said last */
} Boot;

int boot_prepare(Boot *b); /* everything that is there before QEMU starts; errors are logged */
void boot_done(Boot *b);
#define _cleanup_boot_ _cleanup_(boot_done)

int boot_free_port(uint16_t *ret); /* on the loopback, now */

/* ssh into a guest. FOLDER/ssh-key is made where it is not there, and its public half appended; all
 * return 0, or log. */
int ssh_make_key(const char *folder, char ***keys);
int ssh_wait(const char *key, uint16_t port, bool (*alive)(void *userdata), void *userdata,
                uint64_t deadline);
int ssh_try(const char *key, uint16_t port, uint64_t usec); /* once, without a word: 0, or -errno */
/* `command` NULL: a login shell. */
int ssh_run(const char *key, uint16_t port, char *const *command, int *ret_status);

/* The same for a boot with a key of its own. */
int boot_ssh_key(Boot *b);
int boot_ssh_wait(Boot *b, VmProcess *p, uint64_t deadline); /* until root can log in */
int boot_ssh_command(Boot *b, int *ret_status);

/* A running machine: what it says now, to watch.c and the display. */
void boot_follow(Boot *b);
void boot_look(Boot *b, VmProcess *p);
void boot_rest(void); /* until the next look, or a signal */
void boot_tell(const Boot *b, const char *format, ...) _printf_(2, 3); /* a line for cluster.c */

/* After the verdict; an exit code. */
int boot_conclude(Boot *b, VmProcess *p, uint64_t deadline);
void boot_switch_off(Boot *b, VmProcess *p);
void boot_keep_running(Boot *b, VmProcess *p);      /* until Ctrl-C, or the guest's own end */
int boot_give_up(Boot *b, VmProcess *p, int error); /* no verdict came: an exit code */

/* shell.c. Leads the terminal into the guest; returns when it is left. */
void boot_shell(Boot *b, VmProcess *p);

void boot_report_start(const Boot *b);
void boot_report_end(Boot *b, int exit_code);
/* It waited for ready, and the node's agent calls it that with defects. */
bool boot_is_degraded(const Boot *b);
#define BOOT_EXIT_DEGRADED 2 /* with --strict; what firstbootctl status ends with */
/* Failed units that --strict does not forgive; the caller frees the list. */
int boot_unforgiven(const Boot *b, char ***ret);
