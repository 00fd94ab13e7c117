/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One machine of a cluster: a boot in a process of its own, which tells how it goes by lines:
 * "phase NAME", "last WHAT SYSTEMD SAID", "up", "log LEVEL TEXT". */

#include "boot/boot.h"
#include "common/line-buffer.h"

#define MACHINE_LINE_MAX 1024

typedef enum MachineState {
        MACHINE_WAITING,
        MACHINE_BOOTING,
        MACHINE_UP,
        MACHINE_ENDED
} MachineState;

typedef struct Machine {
        const ClusterMachine *what;
        BootOptions o;
        char *image, *address, *state_folder, *save_folder; /* what o borrows */
        uint16_t ssh_port;

        MachineState state;
        pid_t pid;
        int fd;
        int code; /* exit code, once ended */
        char phase[32];
        LineBuffer lines;
} Machine;

/* What the file says of it, as the options of a boot: -EINVAL, -ENOENT (logged). */
int machine_set(Machine *m, const ClusterMachine *what, const ClusterOptions *o);
void machine_done(Machine *m);

int machine_start(Machine *m, Context *ctx, Tools *tools);

/* Reads what it has told and whether it still runs. Never blocks. */
void machine_look(Machine *m, Progress *progress);

void machine_interrupt(Machine *m); /* asks it to end */
void machine_kill(Machine *m);      /* waits for that for a while, then ends it */
