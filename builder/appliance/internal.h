/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of this room share. */

#include "appliance/appliance.h"

/* launch.c. Where libguestfs keeps the appliance of an ordinary user's builds. The caller frees
 * it. */
char *appliance_user_cache(void);

/* launch.c. An appliance over one image, whose programs have a port that leads to the file `port`
 * (a path without a comma). Errors are logged. */
#define APPLIANCE_PORT_NAME "org.imgbuild.tree"
#define APPLIANCE_PORT "/dev/virtio-ports/" APPLIANCE_PORT_NAME
int appliance_open_port(const char *image, const char *format, const char *port, guestfs_h **ret);

/* tries.c. Launches with KVM, where that is trusted, twice, then twice without; `launch` says
 * -EAGAIN for a start that failed. *ret_blame_kvm is set where only KVM made the difference. */
typedef int (*ApplianceLaunch)(bool kvm, void *userdata);
int appliance_launch(ApplianceLaunch launch, bool kvm, void *userdata, bool *ret_blame_kvm);

/* Opens an appliance for `use`, and another one where the first died meanwhile. */
typedef int (*ApplianceOpen)(guestfs_h **ret, void *userdata);
int appliance_use(ApplianceOpen open_it, ApplianceUse use, void *userdata);
