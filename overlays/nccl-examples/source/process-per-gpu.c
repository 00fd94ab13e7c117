/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Example 2: a process a GPU, on one host or many. */

#include "world.h"

int main(int argc, char *argv[]) {
        Example e = {
                .name = "process-per-gpu",
                .text = "Each process adds up numbers of one GPU, with all others: by mpirun or srun."
        };
        World w;
        int count;

        world_enter(&w, &e, argc, argv);
        if (e.gpus > 1)
                example_fail(&e, "a process has one GPU here; gpus-per-process takes -g %d",
                                e.gpus);
        e.gpus = 1;
        count = example_count(&e);
        return world_run(&w, &e, count);
}
