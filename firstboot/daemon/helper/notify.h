/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Tells the site how the node stands: the configured command and HTTP POST, both with the status
 * JSON. Run as firstboot-notify.service, so that neither can hold up the daemon. */

#include "shared/macro.h"

/* Logs what went wrong; 0 or -errno. */
int notify_run(void);
