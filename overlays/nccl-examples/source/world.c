/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void end_all(void) {
        fflush(NULL);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

void world_enter(World *w, Example *e, int argc, char *argv[]) {
        /* Before MPI: --help needs none. An error of MPI's own ends all processes, which is MPI's
         * default. */
        example_options(e, argc, argv);
        MPI_Init(&argc, &argv);
        e->give_up = end_all;
        MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
        MPI_Comm_size(MPI_COMM_WORLD, &w->size);
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, w->rank, MPI_INFO_NULL, &w->host);
        MPI_Comm_size(w->host, &w->local_size);
}

/* Processes need not have as many GPUs as each other: what a process begins with is the number of
 * GPUs before it. */
static int gpus_before(const Example *e, MPI_Comm comm) {
        int before = 0, rank;

        MPI_Comm_rank(comm, &rank);
        MPI_Exscan(&e->gpus, &before, 1, MPI_INT, MPI_SUM, comm);
        return rank == 0 ? 0 : before; /* the first is told nothing */
}

static void connect(const World *w, const Example *e, Gpu *gpus) {
        ncclUniqueId id;

        if (w->rank == 0)
                NCCL(e, ncclGetUniqueId(&id));
        MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);

        /* In a group: each of these calls waits for all ranks, those of this very thread among
         * them. */
        NCCL(e, ncclGroupStart());
        for (int i = 0; i < e->gpus; i++) {
                CUDA(e, cudaSetDevice(gpus[i].device));
                NCCL(e, ncclCommInitRank(&gpus[i].comm, e->ranks, id, gpus[i].rank));
        }
        NCCL(e, ncclGroupEnd());
}

int world_run(World *w, Example *e, int count) {
        int first = gpus_before(e, MPI_COMM_WORLD);
        uint64_t wrong, all;

        MPI_Allreduce(&e->gpus, &e->ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

        /* Where Slurm gave each task GPUs of its own, it sees no others, and the circle brings it
         * to its first. */
        Gpu *gpus = gpus_new(e, gpus_before(e, w->host), count);
        for (int i = 0; i < e->gpus; i++)
                gpus[i].rank = first + i;
        connect(w, e, gpus);

        gpus_sum(e, gpus);
        wrong = gpus_wrong(e, gpus);
        gpus_free(e, gpus);
        printf("[MPI Rank %d] %s\n", w->rank, wrong > 0 ? "wrong" : "Success");
        fflush(stdout);

        /* All say the same in the end, so that a job fails whichever of them is asked. */
        MPI_Allreduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (w->rank == 0 && all > 0)
                fprintf(stderr, "%s: %" PRIu64 " elements are wrong\n", e->name, all);
        else if (w->rank == 0)
                printf("%d GPUs of %d processes\n", e->ranks, w->size);
        MPI_Finalize();
        return all > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
