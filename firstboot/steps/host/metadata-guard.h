/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The cloud's metadata service kept for root: any local user could ask it for user data, keys and
 * tokens that are the instance's. */

#include "steps/common/step.h"

#include <systemd/sd-bus.h>

/* Whether there is anything to do: metadata.root_only is set, or was once. */
bool metadata_guard_is_wanted(json_object *config);

/* Sets the rules, or takes away those of before; bus is systemd's. Records what fails. 0 or
 * -errno. */
int metadata_guard_apply(StepContext *c, sd_bus *bus);
