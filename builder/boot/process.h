/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A running QEMU in the tools tree's sandbox, and its monitor. */

#include "shared/json-util.h"
#include "stage/stage.h"

typedef struct VmProcess VmProcess;

/* Starts argv with the folder, the image's folder and two files of logs bound in as qemu.h says.
 * What QEMU itself writes goes to FOLDER/qemu.log. */
typedef struct VmFolders {
        const char *folder, *image;
        const char *console, *journal; /* files that are there; NULL: no journal */
        bool kvm;                      /* the device too */
} VmFolders;

/* What QEMU's sandbox has besides the tools tree. Targets of logs are allocated; the caller is the
 * runner, whose end frees them. */
#define VM_BINDS_MAX 5
int vm_binds(const VmFolders *f, SandboxBind binds[static VM_BINDS_MAX], size_t *ret_n);

int vm_start(Tools *tools, const VmFolders *folders, char *const argv[], VmProcess **ret);

/* Kills what is left. */
VmProcess *vm_free(VmProcess *p);
DEFINE_CLEANUP(VmProcess *, vm_free);
#define _cleanup_vm_free_ _cleanup_(vm_freep)

/* Whether it still runs; else *ret_status is QEMU's exit code. */
bool vm_alive(VmProcess *p, int *ret_status);

/* Looks after the monitor: connects, says hello, hands every event over. To be called often; never
 * blocks. */
void vm_monitor(VmProcess *p,
                void (*on_event)(const char *event, json_object *data, void *userdata),
                void *userdata);
bool vm_monitor_ready(const VmProcess *p);
int vm_command(VmProcess *p, const char *command); /* -ENOTCONN before the monitor is ready */

/* A connection to its console, where it has a socket for that: a descriptor, or -errno. */
int vm_console(VmProcess *p);

/* As this host sees it; -1 before the monitor is connected. */
pid_t vm_qemu_pid(const VmProcess *p);

/* Ends QEMU: its disks are written out where the monitor answers, else it is killed. Takes 10 s at
 * the most. */
void vm_stop(VmProcess *p);

/* The last thing QEMU itself said; NULL where it said nothing. */
char *vm_last_words(const VmProcess *p);
