/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* NVIDIA's devices as the kernel's PCI code shows them, whatever the driver says, and the version
 * of the kernel module. */

#include "steps/gpu/facts.h"

/* Fills n_pci, pci (by address), n_switches, pci_error and module_version. */
void gpu_read_pci(GpuFacts *f);

/* "580.65.06" out of /proc/driver/nvidia/version; 0 or -EINVAL. */
int gpu_version_from_proc(const char *text, char *ret, size_t size);

/* NVML's version is the major version of CUDA and the driver's: "13.580.65.06"; the driver's part,
 * pointing into it. */
const char *gpu_version_of_nvml(const char *nvml_version);

/* "580.65.06" out of what nv-fabricmanager --version says; 0 or -EINVAL. */
int gpu_version_from_fabric_manager(const char *text, char *ret, size_t size);
