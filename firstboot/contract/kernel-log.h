/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Lines of the kernel log that tell of hardware in trouble while the node is in service. */

#include "shared/macro.h"

/* A record of /dev/kmsg: "PRIORITY,SEQUENCE,USEC,FLAGS[,…];MESSAGE" (the kernel's
 * Documentation/ABI/testing/dev-kmsg). */
typedef struct KernelRecord {
        uint64_t sequence;
        uint64_t usec; /* since boot */
        const char *message;
} KernelRecord;

/* Reads one line, without its newline. False for lines that continue another, for what programs
 * wrote into the log, and for what is no record. *ret points into the line. */
bool kernel_record_parse(const char *line, KernelRecord *ret);

typedef enum KernelEventKind {
        KERNEL_XID,  /* the NVIDIA driver reports an error, of a GPU or an NVSwitch */
        KERNEL_NVRM, /* anything else that the driver complains of */
        KERNEL_AER,  /* a PCIe error that was not corrected */
        KERNEL_AER_CORRECTED,
        KERNEL_MLX5,
        KERNEL_EFA,
        KERNEL_LINK, /* a link went down */
        KERNEL_NVME_RESET,
        KERNEL_NVME_LOST, /* a disk is gone, or gave an I/O error */
        KERNEL_FILESYSTEM,
        _KERNEL_EVENT_KINDS,
} KernelEventKind;

typedef struct KernelEventInfo {
        const char *name; /* of the condition */
        const char *code; /* reason code, where events alone are one */
        unsigned limit;   /* so many within the window are; 0: none, only a reason to look */
} KernelEventInfo;
extern const KernelEventInfo kernel_event_info[_KERNEL_EVENT_KINDS];

/* Whether a message tells of trouble. */
bool kernel_event_of(const char *message, KernelEventKind *ret);
