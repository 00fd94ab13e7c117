/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* QEMU's command line for a machine, and the names that it shares with what is prepared for it. */

#include "boot/vm.h"

/* Where QEMU, inside the tools tree, finds what is bound into its sandbox. */
#define VM_FOLDER "/run/vm"          /* writable: disks, firmware variables, seed, monitor */
#define VM_LOG_FOLDER "/run/log"     /* the files of console and journal, writable */
#define VM_IMAGE_FOLDER "/run/image" /* read-only: the image's folder */

#define VM_CONSOLE_SOCKET "console.sock" /* below VM_FOLDER */

/* The virtio-serial port that the guest's journal comes through. */
#define VM_JOURNAL_PORT "org.imgbuild.journal"

int vm_argv(const VmConfig *c, char ***ret);
