/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What two nodes of this machine's shape must reach, left where `ncclbench pairs` looks for it: a
 * user's job knows no shapes. */

#include "steps/shape/shape.h"

/* Writes /run/firstboot/pairs.json, or removes it where the shape (NULL: unknown) has no number for
 * two nodes. `percent` of what a run measured is asked for, all of what somebody gates on. Negative
 * errno. */
int pair_limit_write(const Shape *shape, bool nvls, int64_t percent);
