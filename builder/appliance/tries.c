/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How often an appliance is tried. Without KVM, an old QEMU's guest kernel dies now and then while
 * it starts, and later too; a start that failed once says nothing about KVM either. */

#include "appliance/internal.h"

#include "shared/log.h"
#include "shared/spawn.h"

#define LAUNCH_ATTEMPTS 2 /* with KVM, and as many without */
#define USE_ATTEMPTS 2

static int launch_some_times(ApplianceLaunch launch, bool kvm, void *userdata) {
        int r = -EAGAIN;

        for (unsigned i = 0; i < LAUNCH_ATTEMPTS && r == -EAGAIN; i++)
                r = launch(kvm, userdata);
        return r;
}

int appliance_launch(ApplianceLaunch launch, bool kvm, void *userdata, bool *ret_blame_kvm) {
        int r;

        if (kvm) {
                r = launch_some_times(launch, true, userdata);
                if (r != -EAGAIN)
                        return r;
        }
        r = launch_some_times(launch, false, userdata);
        if (kvm && r >= 0)
                *ret_blame_kvm = true; /* it alone made the difference */
        return r;
}

int appliance_use(ApplianceOpen open_it, ApplianceUse use, void *userdata) {
        for (unsigned attempt = 1;; attempt++) {
                _cleanup_guestfs_ guestfs_h *g = NULL;
                int r;

                r = open_it(&g, userdata);
                if (r < 0)
                        return r;
                r = use(g, userdata);
                if (guestfs_is_ready(g) > 0) /* it lived to the end: what it said counts */
                        return r;
                if (interrupt_signal())
                        return -ECANCELED;
                if (attempt == USE_ATTEMPTS)
                        return log_error_return(-EIO,
                                        "libguestfs' appliance died twice; the same command with LIBGUESTFS_DEBUG=1 before it shows why");
                log_info("libguestfs' appliance died; starting it once more");
        }
}
