/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The first half of the probe (kvm.h), for it and for tests. */

#include "shared/macro.h"

/* Both return 1, or 0 with the reason, which the caller frees; or negative errno. */

/* Whether the device is there and this user's to open. */
int kvm_device_check(const char *device, char **ret_why);

/* One guest of a few instructions through the KVM device `device`, in a child that is killed after
 * `timeout_usec`. */
int kvm_run_tiny_guest(const char *device, uint64_t timeout_usec, char **ret_why);
