/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Time zones by their names, as tzdata has them. */

#include "contract/config.h"

#define ZONES "/usr/share/zoneinfo"

/* Whether `folder`, a tree's ZONES, has the configuration's host.timezone, *ret_zone. 1, also where
 * none is configured; 0, with *ret_hint "; did you mean "X"?" or "", which the caller frees;
 * -ENOENT: there is no tzdata; -ENOMEM, which folder NULL stands for. */
int zone_look_up(const Config *c, const char *folder, const char **ret_zone, char **ret_hint);
