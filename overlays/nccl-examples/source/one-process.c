/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Example 1: one process, one thread, several GPUs. NCCL makes all communicators in one call, and
 * nobody has to find anybody. */

#include "example.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char *argv[]) {
        Example e = { .name = "one-process",
                .text = "One process adds up numbers of all GPUs of its host." };
        int count;

        example_options(&e, argc, argv);
        count = example_count(&e);
        if (e.gpus == 0)
                e.gpus = count;
        e.ranks = e.gpus;

        Gpu *gpus = gpus_new(&e, 0, count);
        int *devices = calloc((size_t) e.gpus, sizeof(*devices));
        ncclComm_t *comms = calloc((size_t) e.gpus, sizeof(*comms));
        if (!devices || !comms)
                example_fail(&e, "no memory");
        for (int i = 0; i < e.gpus; i++)
                devices[i] = gpus[i].device;
        NCCL(&e, ncclCommInitAll(comms, e.gpus, devices));
        for (int i = 0; i < e.gpus; i++) {
                gpus[i].rank = i;
                gpus[i].comm = comms[i];
        }
        free(devices);
        free(comms);

        gpus_sum(&e, gpus);
        uint64_t wrong = gpus_wrong(&e, gpus);
        gpus_free(&e, gpus);
        if (wrong > 0)
                example_fail(&e, "%" PRIu64 " elements are wrong", wrong);
        printf("%d GPUs of one process\nSuccess\n", e.ranks);
        return EXIT_SUCCESS;
}
