/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads who we are from the variables of MPI's launchers. No MPI is linked: of Open MPI, MPICH,
 * Intel MPI and what speaks PMI we take rank and size; where process 0 is follows from all of them
 * being on this host, from MASTER_ADDR, or from Slurm's node list. */

#include "ncclbench/launch-internal.h"
#include "shared/strv.h"

typedef struct Launcher {
        const char *by, *rank, *size, *local_rank, *local_size;
        const char *job[2]; /* the same in all processes of a job, different in others */
} Launcher;

/* Sources: mpirun(1) of Open MPI, "Environment variables"; MPICH's Hydra, which Intel MPI is made
 * of too; mpirun_rsh of MVAPICH2. */
static const Launcher launchers[] = {
        { "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                        { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid" } },
        { "MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
                        "MV2_COMM_WORLD_LOCAL_SIZE", { "MPIRUN_ID", NULL } },
        { "PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                        { "PMI_JOBID", "HYDI_CONTROL_FD" } },
};

/* Variables of launchers that do not say how many processes there are. */
static const char *const unknown[] = { "PMIX_RANK", "PALS_RANKID", "FLUX_TASK_RANK",
        "JSM_NAMESPACE_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK" };

const char *launch_unknown_launcher(char *const *env) {
        for (size_t i = 0; i < ELEMENTSOF(unknown); i++)
                if (environment_get(env, unknown[i]))
                        return unknown[i];
        return NULL;
}

/* A port below those of outgoing connections, another one for another job: FNV-1a of its name. */
static void choose_port(const Launcher *m, char *const *env, char *ret, size_t size) {
        const char *given = environment_get(env, "MASTER_PORT"), *slurm;
        uint32_t hash = 2166136261u;

        if (given) {
                snprintf(ret, size, "%s", given);
                return;
        }
        slurm = environment_get(env, "SLURM_JOB_ID");
        for (const char *p = strempty(slurm); *p; p++)
                hash = (hash ^ (unsigned char) *p) * 16777619u;
        for (size_t i = 0; i < ELEMENTSOF(m->job); i++)
                for (const char *p = m->job[i] ? strempty(environment_get(env, m->job[i])) : ""; *p;
                                p++)
                        hash = (hash ^ (unsigned char) *p) * 16777619u;
        snprintf(ret, size, "%u", 20000 + hash % 10000);
}

static int find_master(
                const Launcher *m, char *const *env, long local_size, Launch *l, char **ret_error) {
        const char *given = environment_get(env, "MASTER_ADDR");
        char host[256], port[16];
        int r;

        choose_port(m, env, port, sizeof(port));
        if (given)
                return launch_set_master(l, given, port, ret_error);
        if (local_size == l->world)
                return launch_set_master(l, "127.0.0.1", port, ret_error);

        r = launch_slurm_host(env, host, sizeof(host));
        if (r >= 0)
                return launch_set_master(l, host, port, ret_error);
        *ret_error = strf(
                        "%s started %d processes, but does not say where the first of them is: set MASTER_ADDR to its host for all of them (mpirun -x MASTER_ADDR=HOST, mpiexec -genv MASTER_ADDR HOST)",
                        m->by, l->world);
        return -EINVAL;
}

static int from(const Launcher *m, char *const *env, Launch *l, char **ret_error) {
        long rank = -1, world = -1, local = -1, local_size = -1;

        l->by = m->by;
        if (environment_number(env, m->rank, 0, 1000000, &rank, ret_error) < 0 ||
                        environment_number(env, m->size, 1, 1000000, &world, ret_error) < 0 ||
                        environment_number(env, m->local_rank, 0, 4095, &local, ret_error) < 0 ||
                        environment_number(env, m->local_size, 1, 4096, &local_size, ret_error) < 0)
                return -EINVAL;
        if (local < 0 && environment_number(env, "SLURM_LOCALID", 0, 4095, &local, ret_error) < 0)
                return -EINVAL;
        if (local < 0 && world > 1) {
                *ret_error = strf(
                                "$%s says that this is process %ld of %ld, but $%s is missing: which GPU is its own? Give --local-rank, --rank, --world-size and --master",
                                m->rank, rank, world, m->local_rank);
                return -EINVAL;
        }

        l->rank = (int) rank;
        l->world = (int) world;
        l->local_rank = (int) MAX(local, 0L);
        return world == 1 ? 1 : find_master(m, env, local_size, l, ret_error) < 0 ? -EINVAL : 1;
}

int launch_from_mpi(char *const *env, Launch *l, char **ret_error) {
        for (size_t i = 0; i < ELEMENTSOF(launchers); i++)
                if (environment_get(env, launchers[i].rank) &&
                                environment_get(env, launchers[i].size))
                        return from(&launchers[i], env, l, ret_error);
        return 0;
}
