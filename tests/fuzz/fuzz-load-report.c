/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any text as what `ncclbench load` printed: every text that is taken over has an end. */

#include "shared/strv.h"
#include "steps/gpu/load.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = strndup((const char *) data, size);
        static GpuLoad load;

        memset(&load, 0, sizeof(load));
        memset(load.text, 'x', sizeof(load.text));
        load.text[0] = '\0';
        if (gpu_load_parse(&load, GPUS_MAX, text) >= 0 &&
                        !memchr(load.text, '\0', sizeof(load.text)))
                abort();
        return 0;
}
