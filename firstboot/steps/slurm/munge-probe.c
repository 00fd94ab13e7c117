/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* munge(1) gives its daemon 2 s for an answer and tries five times, with pauses that grow: 2.3 s
 * where the socket is closed, 10 s where it is open and nobody speaks. */

#include "steps/slurm/munge-probe.h"
#include "shared/duration.h"
#include "shared/spawn.h"
#include "shared/time-util.h"

#define ANSWER_USEC (5 * USEC_PER_SEC)

int munge_probe(Slurm *s) {
        char limit[FORMAT_DURATION_MAX];
        StepContext *c = s->context;
        uint64_t pause = USEC_PER_SEC;
        int r, status = 0;

        for (;;) {
                _cleanup_free_ char *output = NULL;
                SpawnOptions o = { .timeout_usec = ANSWER_USEC };

                r = spawn_capture(&o, ARGV("munge", "--no-input", "--output=/dev/null"), &output,
                                &status);
                if (r >= 0 && status == 0)
                        return 0;
                if (r == -ENOENT)
                        return step_fail(c, "slurm.not-installed", "munge is not installed");
                if (slurm_again(s, &pause))
                        continue;
                if (r == -ETIMEDOUT)
                        return step_fail_later(c, "slurm.munge-slow",
                                        "munged gave no credential within %s",
                                        format_duration(limit, ANSWER_USEC));
                if (output)
                        output[strcspn(output, "\n")] = '\0';
                if (r < 0)
                        return step_fail_later(
                                        c, "slurm.munge", "munge cannot be run: %s", strerror(-r));
                return step_fail_later(c, "slurm.munge", "%s",
                                isempty(output) ? "munge makes no credential, and does not say why"
                                                : output);
        }
}
