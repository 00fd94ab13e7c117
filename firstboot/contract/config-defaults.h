/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Defaults of a merged configuration. */

#include "contract/config.h"

/* Gives every section that is there the defaults it lacks, and notes "default" as their source.
 * Returns -ENOMEM or 0. */
int config_fill(Config *c);
