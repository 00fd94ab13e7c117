/* mpi-hello: whether MPI works between the hosts of a job. Each task says where it is; then all of
 * them pass a megabyte round the ring and add up their ranks. Exits 1, and says so, where what
 * arrives is not what was sent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 18 };

static int ring(int rank, int size) {
        static int sent[N], got[N];

        for (int i = 0; i < N; i++)
                sent[i] = rank ^ i;

        MPI_Sendrecv(sent, N, MPI_INT, (rank + 1) % size, 0, got, N, MPI_INT,
                        (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

        for (int i = 0; i < N; i++)
                if (got[i] != ((((rank + size - 1) % size)) ^ i))
                        return 1;

        return 0;
}

int main(int argc, char *argv[]) {
        char host[MPI_MAX_PROCESSOR_NAME];
        int rank, size, length, wrong, all, sum;

        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Get_processor_name(host, &length);
        printf("task %d of %d on %s\n", rank, size, host);
        fflush(stdout);

        wrong = ring(rank, size);
        MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != size * (size - 1) / 2)
                all++;

        if (rank == 0)
                printf(all > 0 ? "wrong data came round the ring\n" : "the ring of %d is well\n",
                                size);

        MPI_Finalize();
        return all > 0;
}
