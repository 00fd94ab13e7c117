/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any text as what the child that reads counters prints, look after look. */

#include "daemon/watch-counters.h"
#include "shared/strv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = strndup((const char *) data, size);
        char *rest = text, *line;
        WatchCounters w = { .fd = -EBADF };
        Conditions l = {};
        uint64_t now = 1;

        while ((line = strsep(&rest, "\n"))) {
                watch_counters_line(&w, &l, line, now);
                now += 30 * UINT64_C(1000000);
        }
        watch_counters_done(&w);
        conditions_done(&l);
        return 0;
}
