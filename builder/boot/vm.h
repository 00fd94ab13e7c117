/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The virtual machine that an image is proved in: what it has, and how options say it. */

#include "shared/macro.h"

typedef enum VmFirmware { VM_UEFI, VM_BIOS } VmFirmware;
typedef enum VmAccel { VM_ACCEL_AUTO, VM_ACCEL_KVM, VM_ACCEL_TCG } VmAccel;

typedef struct VmNvme {
        uint64_t size; /* bytes */
        char *serial;  /* at most 20 characters */
        char *model;   /* at most 40 characters; NULL: QEMU's own */
} VmNvme;

#define VM_NVME_MAX 16
#define VM_FORWARD_MAX 16
#define VM_NVME_SERIAL_MAX 20
#define VM_NVME_MODEL_MAX 40

/* A card on a private network that other machines of this host share (boot/link.h). */
#define VM_MAC_SIZE sizeof("02:00:00:00:00:00")
typedef struct VmLink {
        char *name;
        char *address;         /* "10.1.0.1/24"; NULL: none is given to the guest */
        char mac[VM_MAC_SIZE]; /* "": derived */
        const char *folder;    /* where links of that name meet; NULL: LINK_FOLDER */
} VmLink;

#define VM_LINK_MAX 4
#define VM_LINK_NAME_MAX 32

/* The card of QEMU's own network; each machine has one of its own. */
#define VM_USER_MAC "52:54:00:12:34:56"

typedef struct VmForward {
        uint16_t host, guest; /* host 0: a free one is found before the start */
} VmForward;

typedef struct VmConfig {
        VmFirmware firmware;
        bool kvm;
        unsigned cpus;
        uint64_t memory; /* bytes */
        bool root_nvme;  /* root disk as NVMe instead of virtio-blk */
        VmNvme nvme[VM_NVME_MAX];
        size_t n_nvme;
        VmForward forwards[VM_FORWARD_MAX];
        size_t n_forwards;
        VmLink links[VM_LINK_MAX];
        size_t n_links;
        bool seed;
        bool paused;          /* waits for `cont` on the monitor */
        const char *console;  /* file name below VM_LOG_FOLDER */
        bool console_socket;  /* it can be joined, at VM_CONSOLE_SOCKET in the folder */
        bool console_login;   /* with root logged in, by what the guest's systemd is told */
        const char *journal;  /* the same; NULL: no channel, nothing is added to the guest */
        char **credentials;   /* systemd credentials: name, value, name, value … */
        const char *root_key; /* public ssh key for root, as a systemd credential; may be NULL */
} VmConfig;

/* One --nvme argument: a number of disks ("4"), or "size=4G,serial=S,model=M,count=N" in any
 * order; appended to c. Disks that get no serial are named imgbuild0, imgbuild1 … by their place.
 * -EINVAL with *ret_problem (a constant). */
int vm_add_nvme(VmConfig *c, const char *text, const char **ret_problem);

/* "2222:22" or "0:22"; -EINVAL. */
int vm_add_forward(VmConfig *c, const char *text, const char **ret_problem);

/* "NAME[=IPV4/PREFIX][,mac=MAC]"; -EINVAL. */
int vm_add_link(VmConfig *c, const char *text, const char **ret_problem);
void vm_links_done(VmConfig *c);

/* "NAME:FILE": a systemd credential with the file's content, at most VM_CREDENTIAL_MAX bytes of
 * text. -EINVAL with *ret_problem; else what reading the file gave, *ret_problem being the file's
 * name. */
#define VM_CREDENTIAL_MAX 32768
int vm_load_credential(VmConfig *c, const char *text, const char **ret_problem);

void vm_config_done(VmConfig *c);
#define _cleanup_vm_config_ _cleanup_(vm_config_done)
