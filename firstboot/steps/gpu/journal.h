/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Xids of this boot, from the journal. */

#include "steps/gpu/facts.h"

/* Reads the kernel's messages of this boot from the journal, which keeps what the ring buffer has
 * overwritten. Replaces what was found before where it reaches back to the boot; otherwise the
 * facts stay as they are. */
void gpu_read_journal(GpuFacts *f);
