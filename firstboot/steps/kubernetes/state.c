/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Everything that waits for the API server waits in the same way, and all together not longer than
 * kubernetes.give_up. */

#include "steps/kubernetes/state.h"
#include "shared/duration.h"
#include "shared/time-util.h"

#include <time.h>

bool kubernetes_again(Kubernetes *k) {
        uint64_t usec;

        if (!retry_again(&k->loop, now_usec(), &usec))
                return false;
        usleep((useconds_t) usec);
        return true;
}

bool kubernetes_clock_differs(Kubernetes *k, int64_t date, char **ret_text) {
        json_object *section = k->context->section;
        uint64_t limit = config_duration(section, "clock_skew_max", 60 * USEC_PER_SEC);
        char apart[FORMAT_DURATION_MAX], allowed[FORMAT_DURATION_MAX];
        int64_t skew = (int64_t) time(NULL) - date, size = skew < 0 ? -skew : skew;

        if (date == 0)
                return false;
        step_figure(k->context, "clock_skew_seconds", json_object_new_int64(size));
        if ((uint64_t) size * USEC_PER_SEC <= limit)
                return false;
        if (ret_text)
                *ret_text = strf("the clock is %s %s the API server's; at most %s is allowed",
                                format_duration(apart, (uint64_t) size * USEC_PER_SEC),
                                skew > 0 ? "ahead of" : "behind", format_duration(allowed, limit));
        return true;
}
