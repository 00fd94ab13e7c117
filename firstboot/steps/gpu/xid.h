/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Xid: the driver's report of a GPU error in the kernel log; SXid: the same of an NVSwitch. */

#include "steps/gpu/facts.h"

/* Whether a kernel message is such a report; then *ret holds it. */
bool gpu_xid_parse(const char *message, GpuXid *ret);

/* Whether a kernel message tells that a device of NVIDIA's was reset; then its PCI address. */
bool gpu_reset_parse(const char *message, char *ret, size_t size);

/* Adds what the message tells, if it is a report; ends the reports that a reset cures. */
void gpu_xid_message(GpuFacts *f, const char *message);

/* Reads the kernel's ring buffer from its beginning: /dev/kmsg. Fills log_read, log_lost,
 * log_error and the xids. */
void gpu_read_kernel_log(GpuFacts *f);

/* What NVIDIA's catalog of Xids asks for at once. */
typedef enum GpuAction {
        GPU_ACTION_NONE,
        GPU_ACTION_WAIT,   /* it may pass */
        GPU_ACTION_CONFIG, /* image or configuration has to change */
        GPU_ACTION_RESET,  /* nvidia-smi --gpu-reset, or a reboot */
        GPU_ACTION_REBOOT,
        GPU_ACTION_RMA, /* hardware to be replaced: for a cloud, another machine */
} GpuAction;
extern const char *const gpu_action_names[];

GpuAction gpu_xid_action(const GpuXid *xid);

/* nvmlDeviceGpuRecoveryAction_t: what the driver asks for, by NVML and by Xid 154. */
enum {
        GPU_RECOVERY_NONE,
        GPU_RECOVERY_RESET,
        GPU_RECOVERY_REBOOT,
        GPU_RECOVERY_DRAIN_P2P,
        GPU_RECOVERY_DRAIN_AND_RESET,
        GPU_RECOVERY_IMEX,
};
const char *gpu_recovery_text(int64_t recovery, GpuAction *ret_action);
bool gpu_recovery_is_reset(int recovery);
