/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as /dev/kmsg, for the watch and for the gpu step, and as a slot of the history. */

#include "contract/history.h"
#include "daemon/watch-kernel.h"
#include "steps/gpu/xid.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-kernel-log: %s\n", what);
        abort();
}

/* What the gpu step makes of a message: texts that end, no more reports than there is room for. */
static void look_for_xids(const char *message) {
        static GpuFacts facts;
        char address[32];
        GpuXid x;

        if (gpu_xid_parse(message, &x))
                expect(memchr(x.pci, '\0', sizeof(x.pci)) && memchr(x.text, '\0', sizeof(x.text)),
                                "a report without an end");
        if (gpu_reset_parse(message, address, sizeof(address)))
                expect(memchr(address, '\0', sizeof(address)), "an address without an end");
        if (facts.n_xids > 2 * GPU_XIDS_MAX)
                facts.n_xids = 0;
        gpu_xid_message(&facts, message);
        if (facts.n_xids > 0)
                expect(gpu_xid_action(&facts.xids[MIN(facts.n_xids, (unsigned) GPU_XIDS_MAX) -
                                                  1]) <= GPU_ACTION_RMA,
                                "an action that is none");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static WatchKernel k;
        char *text = strndup((const char *) data, size), *rest = text, *line;
        char slot[HISTORY_SLOT] = { 0 };
        HistoryEntry e = { .sequence = 1 }, back;

        while ((line = strsep(&rest, "\n"))) {
                KernelRecord r;

                if (kernel_record_parse(line, &r)) {
                        expect(r.message > line && r.message[-1] == ';', "no message");
                        look_for_xids(r.message);
                }
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
