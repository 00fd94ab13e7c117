/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "store/fetch.h"
#include "lock/lock.h"

/* The .debs of a locked stage: URLs from the lock's origins and the mirror in force on this
 * host. */
int fetch_packages(Context *ctx, const Recipe *recipe, const Lock *lock, const LockedStage *stage,
                const char *progress);
