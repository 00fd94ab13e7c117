/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* scontrol asks the controller for its configuration; what it says where that fails is told apart:
 * network, munge, another key, another time. */

#include "steps/slurm/reach.h"
#include "shared/duration.h"
#include "steps/slurm/control.h"
#include "steps/slurm/sntp.h"

#include <time.h>

/* The controller refuses our credential and does not say why: another key, or clocks that are more
 * than munge's five minutes apart. Its host's NTP server, if there is one, knows. */
static int refused(Slurm *s, const char *line, uint64_t limit) {
        json_object *list = json_get(s->context->section, "controllers");
        const char *first = json_object_get_string(json_object_array_get_idx(list, 0));
        _cleanup_free_ char *host = strndup(first, strcspn(first, ":"));
        int64_t offset = 0;
        char apart[FORMAT_DURATION_MAX], allowed[FORMAT_DURATION_MAX];
        int r;

        if (!host)
                return -ENOMEM;
        r = sntp_offset(host, &offset);
        if (r < 0)
                return step_fail_later(s->context, "slurm.munge-mismatch",
                                "%s; a clock five minutes off looks the same, and %s gives no time by NTP: %s",
                                line, host, strerror(-r));
        int64_t skew = offset < 0 ? -offset : offset;
        step_figure(s->context, "clock_skew_seconds", json_object_new_int64(skew));
        if ((uint64_t) skew * USEC_PER_SEC > limit)
                return step_fail_later(s->context, "slurm.clock-skew",
                                "the clock is %s %s the controller's; at most %s is allowed",
                                format_duration(apart, (uint64_t) skew * USEC_PER_SEC),
                                offset < 0 ? "ahead of" : "behind",
                                format_duration(allowed, limit));
        return step_fail_later(s->context, "slurm.munge-mismatch", "%s; the clocks agree", line);
}

/* Holds the controller's clock, as scontrol tells it, against ours before and after. *ret_skew: how
 * far apart they are. */
static int judge_clock(StepContext *c, const char *output, time_t before, time_t after,
                int64_t *ret_skew) {
        int64_t theirs;

        if (probe_clock(output, &theirs) < 0)
                return step_fail_later(c, "slurm.clock-skew",
                                "the controller's clock could not be read from scontrol's answer");
        *ret_skew = theirs < before ? before - theirs : theirs > after ? theirs - after : 0;
        step_figure(c, "clock_skew_seconds", json_object_new_int64(*ret_skew));
        return 0;
}

/* The time is up, and this is what scontrol said last. */
static int unreached(Slurm *s, ProbeKind kind, char *output, uint64_t limit) {
        static const char *const codes[] = {
                [PROBE_UNREACHABLE] = "slurm.controller-unreachable",
                [PROBE_CLOCK] = "slurm.clock-skew",
                [PROBE_MISMATCH] = "slurm.munge-mismatch",
                [PROBE_MUNGE] = "slurm.munge",
                [PROBE_OTHER] = "slurm.controller-unreachable",
        };

        if (output)
                output[strcspn(output, "\n")] = '\0';
        if (kind == PROBE_MISMATCH)
                return refused(s, strempty(output), limit);
        return step_fail_later(s->context, codes[kind], "%s",
                        isempty(output) ? "scontrol did not end in time, or said nothing" : output);
}

int slurm_reach_controller(Slurm *s) {
        char apart[FORMAT_DURATION_MAX], allowed[FORMAT_DURATION_MAX];
        StepContext *c = s->context;
        uint64_t pause = USEC_PER_SEC,
                 limit = config_duration(c->section, "clock_skew_max", 60 * USEC_PER_SEC);
        int r;

        for (;;) {
                _cleanup_free_ char *output = NULL;
                time_t before = time(NULL);
                int64_t skew = 0;

                r = scontrol(ARGV("show", "config"), &output);
                if (r == -ENOENT)
                        return step_fail(c, "slurm.not-installed", "scontrol is not installed");
                ProbeKind kind = r < 0 ? PROBE_UNREACHABLE : probe_judge(r, output);
                if (kind == PROBE_GOOD) {
                        r = judge_clock(c, output, before, time(NULL), &skew);
                        if (r < 0 || (uint64_t) skew * USEC_PER_SEC <= limit)
                                return r;
                }

                /* Time synchronisation may be under way. */
                if (slurm_again(s, &pause))
                        continue;
                if (kind != PROBE_GOOD)
                        return unreached(s, kind, output, limit);
                return step_fail_later(c, "slurm.clock-skew",
                                "the clock differs from the controller's by %s; at most %s is allowed",
                                format_duration(apart, (uint64_t) skew * USEC_PER_SEC),
                                format_duration(allowed, limit));
        }
}
