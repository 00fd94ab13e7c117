/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Example 3: several GPUs a process, on one host or many. */

#include "world.h"

int main(int argc, char *argv[]) {
        Example e = {
                .name = "gpus-per-process",
                .text = "Each process adds up numbers of its share of the host's GPUs, with all others: by mpirun or srun."
        };
        World w;
        int count;

        world_enter(&w, &e, argc, argv);
        count = example_count(&e);
        if (e.gpus == 0)
                e.gpus = count / w.local_size;
        if (e.gpus == 0)
                example_fail(&e, "%d processes here, and GPUs for %d of them", w.local_size, count);
        return world_run(&w, &e, count);
}
