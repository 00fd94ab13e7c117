/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as /dev/kmsg, and as a slot of the history. */

#include "contract/history.h"
#include "daemon/watch-kernel.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-kernel-log: %s\n", what);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static WatchKernel k;
        char *text = strndup((const char *) data, size), *rest = text, *line;
        char slot[HISTORY_SLOT] = { 0 };
        HistoryEntry e = { .sequence = 1 }, back;

        while ((line = strsep(&rest, "\n"))) {
                KernelRecord r;

                if (kernel_record_parse(line, &r))
                        expect(r.message > line && r.message[-1] == ';', "no message");
                (void) watch_kernel_line(&k, line);
        }

        memcpy(slot, data, size < sizeof(slot) ? size : sizeof(slot));
        (void) history_slot_read(slot, &back);

        /* Whatever is written can be read. */
        snprintf(e.text, sizeof(e.text), "%s", text);
        snprintf(e.code, sizeof(e.code), "%s", text);
        if (size >= sizeof(double)) {
                memcpy(&e.figures[0], data, sizeof(double));
                e.known[0] = e.figures[0] - e.figures[0] == 0; /* finite */
        }
        expect(history_slot_write(&e, slot) >= 0, "an entry cannot be written");
        expect(history_slot_read(slot, &back) >= 0, "a written entry cannot be read");
        free(text);
        return 0;
}
