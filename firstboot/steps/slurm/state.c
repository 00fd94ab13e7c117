/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Everything that waits for the controller waits in the same way, and all together not longer than
 * slurm.give_up. */

#include "steps/slurm/state.h"
#include "shared/time-util.h"

#define PAUSE_MAX_USEC (10 * USEC_PER_SEC)

bool slurm_again(const Slurm *s, uint64_t *pause) {
        if (now_usec() + *pause >= s->deadline)
                return false;
        usleep((useconds_t) *pause);
        *pause = MIN(*pause * 2, PAUSE_MAX_USEC);
        return true;
}
