/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A look by libblkid, let go at the end of the scope. */

#include "shared/macro.h"

#include <blkid.h>

DEFINE_CLEANUP(blkid_probe, blkid_free_probe);
#define _cleanup_probe_ _cleanup_(blkid_free_probep)
