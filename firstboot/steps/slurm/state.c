/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Everything that waits for the controller waits in the same way, and all together not longer than
 * slurm.give_up. */

#include "steps/slurm/state.h"
#include "contract/retry.h"
#include "shared/time-util.h"

bool slurm_again(Slurm *s, uint64_t *pause) {
        RetryLoop loop = RETRY_LOOP_SLURM(s->context->seed, s->deadline);
        uint64_t usec;

        loop.n = s->pauses;
        loop.pause_usec = *pause;
        if (!retry_again(&loop, now_usec(), &usec))
                return false;

        usleep((useconds_t) usec);
        s->pauses = loop.n;
        *pause = loop.pause_usec;
        return true;
}
