/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The layer of the configuration that comes through cloud-init. */

#include "contract/config.h"

/* Lays the user data's section "firstboot" over the configuration, notes what is known of the
 * instance, and what cloud-init failed at: an error where it read no user data at all, else
 * warnings. Its files' own faults are warnings. 0 or -ENOMEM. */
int config_take_cloud_init(Config *c);
